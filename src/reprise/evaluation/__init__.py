"""Measures of trained models: losses by line, agreement, Jacobians, neighbours, and texts that they write."""
