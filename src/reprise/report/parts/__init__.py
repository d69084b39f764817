"""Hold what figures, tables, page and README share."""
