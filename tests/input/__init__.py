"""One dataset for all replicas of a worker."""
