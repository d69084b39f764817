"""From run records to answers: statistics, measures, verdicts. Nothing here draws or writes sentences."""
