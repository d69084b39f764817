"""The checks by name, each as "module:function" (see `reprise.checks`). Nothing here imports torch."""

from __future__ import annotations

from typing import Any

from reprise.registered import load

CHECKS: dict[str, str] = {
    "lstm-parameter-count": "reprise.checks.palindromes:lstm_parameter_count",
    "output-weight-gradient": "reprise.checks.palindromes:output_weight_gradient",
    "omega-recursion-printed": "reprise.checks.palindromes:omega_recursion_printed",
    "omega-recursion-corrected": "reprise.checks.palindromes:omega_recursion_corrected",
    "temperature-raises-entropy": "reprise.checks.books:temperature_raises_entropy",
    "temperature-lowers-entropy": "reprise.checks.books:temperature_lowers_entropy",
    "table-1-printed-parameters": "reprise.checks.rntn:printed_parameters",
    "table-1-equal-parameters": "reprise.checks.rntn:equal_parameters",
    "operations-independent-of-matrices": "reprise.checks.rntn:operations",
    "seconds-independent-of-matrices": "reprise.checks.rntn:seconds",
    "mrnn-is-the-case-without-e": "reprise.checks.gso:mrnn_is_the_case_without_e",
    "integration-is-the-constrained-case": "reprise.checks.gso:integration_is_the_constrained_case",
    "full-tensor-by-sufficient-rank": "reprise.checks.gso:full_tensor_by_sufficient_rank",
    "first-order-jacobian-printed": "reprise.checks.gso:first_order_jacobian_printed",
    "first-order-jacobian-corrected": "reprise.checks.gso:first_order_jacobian_corrected",
    "second-order-jacobian-printed": "reprise.checks.gso:second_order_jacobian_printed",
    "second-order-jacobian-corrected": "reprise.checks.gso:second_order_jacobian_corrected",
    "sizes-of-the-budget": "reprise.checks.gso:sizes_of_the_budget",
    "softmax-is-log-linear": "reprise.checks.loglinear:softmax_is_log_linear",
    "expected-minus-observed": "reprise.checks.loglinear:expected_minus_observed",
    "background-alone": "reprise.checks.loglinear:background_alone",
    "log-linear-parameters": "reprise.checks.loglinear:parameter_counts",
    "unseen-numerals": "reprise.checks.loglinear_numerals:numerals",
    "bigram-mass-printed": "reprise.checks.lecture:bigram_mass_printed",
    "bigram-mass-corrected": "reprise.checks.lecture:bigram_mass_corrected",
    "window-printed": "reprise.checks.lecture:window_printed",
    "window-corrected": "reprise.checks.lecture:window_corrected",
    "perplexity-printed": "reprise.checks.lecture:perplexity_printed",
    "perplexity-corrected": "reprise.checks.lecture:perplexity_corrected",
    "notes-jacobian-printed": "reprise.checks.lecture_jacobians:jacobian_printed",
    "notes-jacobian-corrected": "reprise.checks.lecture_jacobians:jacobian_corrected",
    "jacobian-bound": "reprise.checks.lecture_jacobians:jacobian_bound",
    "sigmoid-slope": "reprise.checks.lecture_jacobians:sigmoid_slope",
    "norm-clipping": "reprise.checks.lecture:clipping",
    "gate-limits": "reprise.checks.lecture_networks:gate_limits",
    "parameters-over-length": "reprise.checks.lecture_networks:parameters_over_length",
    "memory-over-length": "reprise.checks.lecture_networks:memory_over_length",
    "memory-over-corpus": "reprise.checks.lecture_networks:memory_over_corpus",
    "bidirectional-parameters": "reprise.checks.lecture_networks:bidirectional_parameters",
    "bidirectional-parameters-and-output": "reprise.checks.lecture_networks:bidirectional_with_output",
    "lower-layer-own": "reprise.checks.lecture_layers:lower_layer_own",
    "lower-layer-both": "reprise.checks.lecture_layers:lower_layer_both",
    "matrix-by-layers": "reprise.checks.lecture_layers:matrix_by_layers",
    "matrix-by-units": "reprise.checks.lecture_layers:matrix_by_units",
    "decoder-inputs": "reprise.checks.lecture_layers:decoder_inputs",
}


def run_check(name: str) -> list[Any]:
    """The findings (`reprise.checks.Finding`) of a check, which this runs."""
    return load(CHECKS[name], f"src/reprise/catalogue/checks.py: key CHECKS[{name!r}]")()
