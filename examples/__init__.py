"""Training programs written for `stratagem`."""
