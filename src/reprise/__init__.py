"""Reprise re-performs published recurrent language-model experiments."""

__version__ = "1.0.0"

ORDER = (
    ("cli", "plan"),
    ("report",),
    ("estimate", "cluster", "outputs"),
    ("evidence",),
    ("checks",),
    ("training",),
    ("evaluation",),
    ("engines",),
    ("models",),
    ("data",),
    ("config",),
    ("catalogue", "records"),
    ("units", "counters", "options", "sums"),
    ("environment", "files", "processes", "processor", "terminal"),
    ("errors",),
)
"""The packages, each of which may import those in the rows below its own (tests/unit/test_arrows.py)."""
