"""What ``ascend-infer perf`` and ``compare`` read from their command lines."""
