"""Make figures and tables that any paper may have."""
