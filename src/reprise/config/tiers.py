"""The tiers: protocols of different length, not different hardware."""

TIERS = ("quick", "reduced", "paper")
