"""The programs, one module an area."""
