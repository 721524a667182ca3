"""How ``ascend-infer infer`` shows and saves what a model gives."""
