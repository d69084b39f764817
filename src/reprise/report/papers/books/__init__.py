"""Figures and tables of document 002, part 2."""
