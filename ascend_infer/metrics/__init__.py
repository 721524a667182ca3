"""What models count: Prometheus text under Triton's names, Triton's statistics, numbers for people."""
