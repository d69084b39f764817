"""Engines of document 001's gated networks."""
