"""Estimate how long missing replicas take, and what their jobs request; nothing that is collected depends on it."""
