"""Functions that draw figures and write tables: what a paper's file may name as `function:`, and what each is told.

"module.function" of `reprise.report.figures` or `reprise.report.tables`, with every option under `options:` and its
default, which gives the type too. Stated without importing any of them, so that a mistake is told also where nothing
that draws is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Defaults = Mapping[str, Any]

FIGURES: dict[str, Defaults] = {
    "books.loss_curves": {},
    "books.measures_over_steps": {},
    "gso.loss_against_ratio": {},
    "gso.loss_by_position": {},
    "language_models.curves": {"metric": "cross_entropy", "split": "valid"},
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


@dataclass(frozen=True)
class Draws:
    """Which experiments a function draws: those of these protocols, or `checks`, that have these `settings` (dotted);
    `alone` says that it draws one.
    """

    protocols: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    alone: bool = False
    checks: bool = False


_BOOKS, _BOOK = Draws(("character-windows",)), Draws(("character-windows",), alone=True)
_COUNTED, _RECALLED = Draws(("word-ngram",)), Draws(("recall",))
_WINDOWS, _CORPUS, _PAIRS = Draws(("windows",)), Draws(("corpus-facts",)), Draws(("translation",))

DRAWS: dict[str, Draws] = {
    "book_texts.completions": _BOOK,
    "book_texts.samples": _BOOK,
    "books.expectations": _BOOKS,
    "books.loss_at_steps": _BOOKS,
    "books.loss_curves": _BOOKS,
    "books.measures": _BOOKS,
    "books.measures_over_steps": _BOOKS,
    "checks.errors": Draws(checks=True),
    "gso.ablation": Draws(("line-epochs",), ("data.tokens",)),
    "gso.loss_against_ratio": Draws(("line-epochs",), ("data.tokens", "model.second_order_size")),
    "gso.loss_by_position": Draws(("line-epochs",), alone=True),
    "gso.unit_audit": Draws(("line-epochs", "ngram")),
    "gso_text.facts": Draws(("corpus-facts",), alone=True),
    "gso_text.predictions": Draws(("line-epochs",), alone=True),
    "lecture.error_surface": Draws(("error-surface",), alone=True),
    "lecture.language_models": Draws(("window-sgd", "word-ngram")),
    "lecture.ngrams": _COUNTED,
    "lecture.recall": _RECALLED,
    "lecture.storage": Draws(("word-ngram",), alone=True),
    "lecture_jacobians.random": Draws(("random-jacobians",)),
    "lecture_jacobians.trained": _RECALLED,
    "lecture_sentences.pooling": Draws(("sentence-labels",)),
    "lecture_sentences.taggers": Draws(("tagging",)),
    "lecture_sentences.word_order": Draws(("word-order",)),
    "log_linear.splits": _CORPUS,
    "log_linear.statistics": _CORPUS,
    "log_linear.tags": _CORPUS,
    "log_linear_results.controls": _WINDOWS,
    "log_linear_results.perplexities": _WINDOWS,
    "log_linear_words.agreement": _WINDOWS,
    "log_linear_words.generated": _WINDOWS,
    "palindromes.convergence": Draws(("final-digit",)),
    "palindromes.training_curves": Draws(("final-digit",)),
    "rrntn.perplexity_against_matrices": Draws(("batched-sgd", "subsequence-sgd"), ("model.mapping", "model.matrices")),
    "translation.examples": _PAIRS,
    "translation.ladder": _PAIRS,
}
"""What functions can draw that are made for some experiments; the others draw whatever is trained."""

_NOT_OF_EXPERIMENTS = {"claims", "arithmetic", "assumptions"}
"""Modules of tables that no experiment is `cited_by`."""


def of_experiments(function: str) -> bool:
    """Whether experiments stand in what "module.function" draws, and not the paper's claims, choices or arithmetic."""
    return function.partition(".")[0] not in _NOT_OF_EXPERIMENTS
