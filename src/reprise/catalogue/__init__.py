"""All that the configuration may name: models, protocols, datasets, checks, displays. Nothing here imports torch."""
