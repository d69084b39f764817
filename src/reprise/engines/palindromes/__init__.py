"""Engines of document 002's palindrome networks."""
