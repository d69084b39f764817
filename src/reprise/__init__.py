"""Reprise re-performs published recurrent language-model experiments."""

__version__ = "0.1.0"
