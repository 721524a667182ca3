"""What ``ascend-infer inspect`` finds out about a model and how it is shown. Nothing here loads a model."""
