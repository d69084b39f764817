"""The engine of document 002's character model, a layer at a time."""
