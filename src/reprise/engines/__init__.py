"""The fast engines, one folder a model family, each held to the readable model by a test."""
