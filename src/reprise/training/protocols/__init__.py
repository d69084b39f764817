"""One protocol of training a file."""
