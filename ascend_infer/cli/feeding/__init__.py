"""How ``ascend-infer infer`` turns the words of a command line into a model's input arrays."""
