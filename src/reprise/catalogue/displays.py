"""The functions that draw figures and write tables: what each draws.

"<folder>.<function>" in a paper's file is a function of report/papers/<folder>/figures.py or tables.py. What they draw
stands here, so that a mistake is reported also where nothing that draws is installed. Their options are in
`reprise.catalogue.options.displays`.
"""

from dataclasses import dataclass

KINDS = ("figures", "tables")


@dataclass(frozen=True)
class DisplayScope:
    """What a function draws: experiments of these protocols that have these `settings` (dotted).

    `alone`: it draws exactly one. `checks`: it draws checks. `has_experiments` is false for a function that draws the
    paper's claims, choices or arithmetic.
    """

    protocols: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    alone: bool = False
    checks: bool = False
    has_experiments: bool = True


def _make_scope(*protocols: str, settings: tuple[str, ...] = (), alone: bool = False) -> DisplayScope:
    return DisplayScope(protocols, settings, alone)


_OF_PAPER = DisplayScope(has_experiments=False)

FUNCTIONS: dict[str, dict[str, DisplayScope]] = {
    "figures": {
        "shared.curves": DisplayScope(),
        "palindromes.training_curves": _make_scope("final-digit"),
        "books.loss_curves": _make_scope("character-windows"),
        "books.measures_over_steps": _make_scope("character-windows"),
        "rrntn.perplexity_against_matrices": _make_scope(
            "batched-sgd", "subsequence-sgd", settings=("model.mapping", "model.matrices")
        ),
        "gso.loss_against_ratio": _make_scope("line-epochs", settings=("data.tokens", "model.second_order_size")),
        "gso.loss_by_position": _make_scope("line-epochs", alone=True),
        "lecture.ngrams": _make_scope("word-ngram"),
        "lecture.recall": _make_scope("recall"),
        "lecture.error_surface": _make_scope("error-surface", alone=True),
        "lecture.jacobians": _make_scope("recall"),
        "lecture.random_jacobians": _make_scope("random-jacobians"),
        "lecture.taggers": _make_scope("tagging"),
        "lecture.translation_ladder": _make_scope("translation"),
    },
    "tables": {
        "shared.claims": _OF_PAPER,
        "shared.checks": DisplayScope(checks=True),
        "shared.printed": _OF_PAPER,
        "shared.errata": _OF_PAPER,
        "shared.assumptions": _OF_PAPER,
        "shared.perplexity": DisplayScope(),
        "shared.loss_by_count": _make_scope("subsequence-sgd", "windows"),
        "palindromes.convergence": _make_scope("final-digit"),
        "books.loss_at_steps": _make_scope("character-windows"),
        "books.measures": _make_scope("character-windows"),
        "books.expectations": _make_scope("character-windows"),
        "books.samples": _make_scope("character-windows", alone=True),
        "books.completions": _make_scope("character-windows", alone=True),
        "gso.ablation": _make_scope("line-epochs", settings=("data.tokens",)),
        "gso.unit_audit": _make_scope("line-epochs", "ngram"),
        "gso.predictions": _make_scope("line-epochs", alone=True),
        "gso.facts": _make_scope("corpus-facts", alone=True),
        "loglinear.splits": _make_scope("corpus-facts"),
        "loglinear.statistics": _make_scope("corpus-facts"),
        "loglinear.tags": _make_scope("corpus-facts"),
        "loglinear.perplexities": _make_scope("windows"),
        "loglinear.controls": _make_scope("windows"),
        "loglinear.generated": _make_scope("windows"),
        "loglinear.agreement": _make_scope("windows"),
        "lecture.ngrams": _make_scope("word-ngram"),
        "lecture.storage": _make_scope("word-ngram", alone=True),
        "lecture.language_models": _make_scope("window-sgd", "word-ngram"),
        "lecture.recall": _make_scope("recall"),
        "lecture.taggers": _make_scope("tagging"),
        "lecture.pooling": _make_scope("sentence-labels"),
        "lecture.word_order": _make_scope("word-order"),
        "lecture.translation_ladder": _make_scope("translation"),
        "lecture.translation_examples": _make_scope("translation"),
    },
}
"""By kind and "<folder>.<function>" what every function draws."""


def find_scope(function: str) -> DisplayScope:
    """Return what "<folder>.<function>" draws: anything, where it is not listed."""
    return next((listed[function] for listed in FUNCTIONS.values() if function in listed), DisplayScope())
