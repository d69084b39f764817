"""The readable models, one equation family a file."""
