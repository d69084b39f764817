"""What figures, tables, page and README share."""
