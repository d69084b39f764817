"""Corpora of sentence pairs for translation."""
