"""Words for what was found: one place turns a decision into a short sentence."""
