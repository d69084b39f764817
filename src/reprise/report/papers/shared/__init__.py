"""Figures and tables that any paper may have."""
