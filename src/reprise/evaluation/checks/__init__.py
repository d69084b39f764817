"""Checks: experiments without training, whose record holds a computed error.

A check is a function without arguments that returns a list of `Finding`s; it passes where every error stays within
the tolerance that the configuration states.
"""

from __future__ import annotations

from dataclasses import dataclass

from reprise.registered import load

CHECKS: dict[str, str] = {
    "lstm-parameter-count": "reprise.evaluation.checks.palindromes:lstm_parameter_count",
    "output-weight-gradient": "reprise.evaluation.checks.palindromes:output_weight_gradient",
    "omega-recursion-printed": "reprise.evaluation.checks.palindromes:omega_recursion_printed",
    "omega-recursion-corrected": "reprise.evaluation.checks.palindromes:omega_recursion_corrected",
    "temperature-raises-entropy": "reprise.evaluation.checks.books:temperature_raises_entropy",
    "temperature-lowers-entropy": "reprise.evaluation.checks.books:temperature_lowers_entropy",
    "table-1-printed-parameters": "reprise.evaluation.checks.rrntn:printed_parameters",
    "table-1-equal-parameters": "reprise.evaluation.checks.rrntn:equal_parameters",
    "operations-independent-of-matrices": "reprise.evaluation.checks.rrntn:operations",
    "seconds-independent-of-matrices": "reprise.evaluation.checks.rrntn:seconds",
    "mrnn-is-the-case-without-e": "reprise.evaluation.checks.gso:mrnn_is_the_case_without_e",
    "integration-is-the-constrained-case": "reprise.evaluation.checks.gso:integration_is_the_constrained_case",
    "full-tensor-by-sufficient-rank": "reprise.evaluation.checks.gso:full_tensor_by_sufficient_rank",
    "first-order-jacobian-printed": "reprise.evaluation.checks.gso:first_order_jacobian_printed",
    "first-order-jacobian-corrected": "reprise.evaluation.checks.gso:first_order_jacobian_corrected",
    "second-order-jacobian-printed": "reprise.evaluation.checks.gso:second_order_jacobian_printed",
    "second-order-jacobian-corrected": "reprise.evaluation.checks.gso:second_order_jacobian_corrected",
    "sizes-of-the-budget": "reprise.evaluation.checks.gso:sizes_of_the_budget",
    "softmax-is-log-linear": "reprise.evaluation.checks.llrnn:softmax_is_log_linear",
    "expected-minus-observed": "reprise.evaluation.checks.llrnn:expected_minus_observed",
    "background-alone": "reprise.evaluation.checks.llrnn:background_alone",
    "log-linear-parameters": "reprise.evaluation.checks.llrnn:parameter_counts",
    "unseen-numerals": "reprise.evaluation.checks.numerals:numerals",
    "bigram-mass-printed": "reprise.evaluation.checks.lecture:bigram_mass_printed",
    "bigram-mass-corrected": "reprise.evaluation.checks.lecture:bigram_mass_corrected",
    "window-printed": "reprise.evaluation.checks.lecture:window_printed",
    "window-corrected": "reprise.evaluation.checks.lecture:window_corrected",
    "perplexity-printed": "reprise.evaluation.checks.lecture:perplexity_printed",
    "perplexity-corrected": "reprise.evaluation.checks.lecture:perplexity_corrected",
    "notes-jacobian-printed": "reprise.evaluation.checks.lecture_jacobians:jacobian_printed",
    "notes-jacobian-corrected": "reprise.evaluation.checks.lecture_jacobians:jacobian_corrected",
    "jacobian-bound": "reprise.evaluation.checks.lecture_jacobians:jacobian_bound",
    "sigmoid-slope": "reprise.evaluation.checks.lecture_jacobians:sigmoid_slope",
    "norm-clipping": "reprise.evaluation.checks.lecture:clipping",
    "gate-limits": "reprise.evaluation.checks.lecture_networks:gate_limits",
    "parameters-over-length": "reprise.evaluation.checks.lecture_networks:parameters_over_length",
    "memory-over-length": "reprise.evaluation.checks.lecture_networks:memory_over_length",
    "memory-over-corpus": "reprise.evaluation.checks.lecture_networks:memory_over_corpus",
    "bidirectional-parameters": "reprise.evaluation.checks.lecture_networks:bidirectional_parameters",
    "bidirectional-parameters-and-output": "reprise.evaluation.checks.lecture_networks:bidirectional_with_output",
    "lower-layer-own": "reprise.evaluation.checks.lecture_layers:lower_layer_own",
    "lower-layer-both": "reprise.evaluation.checks.lecture_layers:lower_layer_both",
    "matrix-by-layers": "reprise.evaluation.checks.lecture_layers:matrix_by_layers",
    "matrix-by-units": "reprise.evaluation.checks.lecture_layers:matrix_by_units",
    "decoder-inputs": "reprise.evaluation.checks.lecture_layers:decoder_inputs",
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
    found: list[Finding] = load(CHECKS[name], f"src/reprise/evaluation/checks/__init__.py: key CHECKS[{name!r}]")()
    return found
