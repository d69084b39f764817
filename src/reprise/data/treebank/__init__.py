"""Corpora of treebanks in CoNLL-U."""
