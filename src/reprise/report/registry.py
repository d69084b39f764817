"""Functions that draw figures and write tables: what a paper's file may name as `function:`, and what each is told.

"module.function" of `reprise.report.figures` or `reprise.report.tables`, with every option under `options:` and its
default, which gives the type too. Stated without importing any of them, so that a mistake is told also where nothing
that draws is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Defaults = Mapping[str, Any]

FIGURES: dict[str, Defaults] = {
    "books.loss_curves": {},
    "books.measures_over_steps": {},
    "gso.loss_against_ratio": {},
    "gso.loss_by_position": {},
    "lecture.error_surface": {},
    "lecture.ngrams": {},
    "lecture.recall": {},
    "lecture_jacobians.random": {},
    "lecture_jacobians.trained": {},
    "lecture_sentences.taggers": {},
    "palindromes.training_curves": {"smooth": 1},
    "rrntn.perplexity_against_matrices": {},
    "translation.ladder": {"lines": ""},
}

TABLES: dict[str, Defaults] = {
    "arithmetic.errata": {},
    "arithmetic.printed": {},
    "assumptions.consequences": {"numbers": ""},
    "book_texts.completions": {},
    "book_texts.samples": {},
    "books.expectations": {},
    "books.loss_at_steps": {},
    "books.measures": {},
    "checks.errors": {},
    "claims.verdicts": {},
    "gso.ablation": {},
    "gso.unit_audit": {"claim": ""},
    "gso_text.facts": {},
    "gso_text.predictions": {"printed": [], "lines": 6, "width": 80},
    "language_models.perplexity": {},
    "lecture.language_models": {"cited": ""},
    "lecture.ngrams": {},
    "lecture.recall": {},
    "lecture.storage": {},
    "lecture_sentences.pooling": {},
    "lecture_sentences.taggers": {},
    "lecture_sentences.word_order": {},
    "log_linear.splits": {},
    "log_linear.statistics": {},
    "log_linear.tags": {},
    "log_linear_results.controls": {"base": "", "full": ""},
    "log_linear_results.perplexities": {},
    "log_linear_words.agreement": {},
    "log_linear_words.generated": {},
    "palindromes.convergence": {"variant": ""},
    "translation.examples": {},
    "translation.ladder": {},
}

FUNCTIONS: dict[str, dict[str, Defaults]] = {"figures": FIGURES, "tables": TABLES}
"""By kind: the key of a paper's file, and the package under `reprise.report`."""

_NOT_OF_EXPERIMENTS = {"claims", "arithmetic", "assumptions"}
"""Modules of tables that no experiment is `cited_by`."""


def of_experiments(function: str) -> bool:
    """Whether experiments stand in what "module.function" draws, and not the paper's claims, choices or arithmetic."""
    return function.partition(".")[0] not in _NOT_OF_EXPERIMENTS
