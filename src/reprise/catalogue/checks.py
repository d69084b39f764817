"""The checks by name (see `reprise.checks`). Nothing here imports torch."""

from pkgutil import resolve_name
from typing import Any

_BY_FILE = {
    "palindromes": "lstm-parameter-count output-weight-gradient omega-recursion-printed omega-recursion-corrected",
    "books": "temperature-raises-entropy temperature-lowers-entropy",
    "rntn": """
        table-1-printed-parameters table-1-equal-parameters operations-independent-of-matrices
        seconds-independent-of-matrices
    """,
    "gso": """
        mrnn-is-the-case-without-e integration-is-the-constrained-case full-tensor-by-sufficient-rank
        first-order-jacobian-printed first-order-jacobian-corrected second-order-jacobian-printed
        second-order-jacobian-corrected sizes-of-the-budget first-order-term-keeps-the-gradient
    """,
    "loglinear": "softmax-is-log-linear expected-minus-observed background-alone log-linear-parameters",
    "loglinear_numerals": "unseen-numerals",
    "lecture": """
        bigram-mass-printed bigram-mass-corrected window-printed window-corrected perplexity-printed
        perplexity-corrected norm-clipping
    """,
    "lecture_jacobians": "notes-jacobian-printed notes-jacobian-corrected jacobian-bound sigmoid-slope",
    "lecture_networks": """
        gate-limits parameters-over-length memory-over-length memory-over-corpus bidirectional-parameters
        bidirectional-parameters-and-output
    """,
    "lecture_layers": "lower-layer-own lower-layer-both matrix-by-layers matrix-by-units decoder-inputs",
}
"""File in src/reprise/checks/ -> names of its checks; the check `gate-limits` is the function `check_gate_limits`."""

CHECKS = {
    name: f"reprise.checks.{file}:check_{name.replace('-', '_')}"
    for file, names in _BY_FILE.items()
    for name in names.split()
}


def run_check(name: str) -> list[Any]:
    """Run a check and return its findings (`reprise.checks.Finding`)."""
    return list(resolve_name(CHECKS[name])())
