"""Corpora of running text and of sentences."""
