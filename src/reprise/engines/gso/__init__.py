"""Engines of document 000's networks: lines packed, only active rows computed."""
