"""The hand-written engines for many replicas on a GPU."""
