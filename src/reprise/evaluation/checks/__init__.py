"""Checks: experiments without training, whose record holds a computed error.

A check is a function without arguments that returns a list of `Finding`s; it passes where every error stays within
the tolerance that the configuration states.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

CHECKS: dict[str, str] = {
    "lstm-parameter-count": "reprise.evaluation.checks.palindromes:lstm_parameter_count",
    "output-weight-gradient": "reprise.evaluation.checks.palindromes:output_weight_gradient",
    "omega-recursion-printed": "reprise.evaluation.checks.palindromes:omega_recursion_printed",
    "omega-recursion-corrected": "reprise.evaluation.checks.palindromes:omega_recursion_corrected",
    "table-1-printed-parameters": "reprise.evaluation.checks.rrntn:printed_parameters",
    "table-1-equal-parameters": "reprise.evaluation.checks.rrntn:equal_parameters",
    "operations-independent-of-matrices": "reprise.evaluation.checks.rrntn:operations",
    "seconds-independent-of-matrices": "reprise.evaluation.checks.rrntn:seconds",
}


@dataclass(frozen=True)
class Finding:
    """One computed error: `n` comparisons, of which the worst was off by `error` (a ratio unless `unit` says else)."""

    name: str
    error: float
    n: int
    unit: str = "relative"


def run_check(name: str) -> list[Finding]:
    """Runs the check that the registry calls `name`."""
    module, function = CHECKS[name].split(":")
    return getattr(import_module(module), function)()
