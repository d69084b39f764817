"""Figures and tables of document 000."""
