"""Figures and tables, a folder for each family of papers."""
