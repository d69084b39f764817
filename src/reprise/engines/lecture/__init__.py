"""Engines of the lecture's window model and translators."""
