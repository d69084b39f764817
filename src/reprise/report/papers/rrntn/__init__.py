"""Figures of document 001."""
