"""Engines of document 004's log-linear RNN."""
