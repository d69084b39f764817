"""Figures and tables of document 003."""
