"""The page, its forest plot, and README's results."""
