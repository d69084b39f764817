"""The tiers: protocols of different length, not different hardware."""

TIERS = ("quick", "reduced", "paper")
FULL = "paper"
"""The tier that does what the papers did."""
