"""The functions that draw figures and write tables: what each draws.

"<folder>.<function>" in a paper's file is a function of report/papers/<folder>/figures.py or tables.py. What they draw
stands here, so that a mistake is reported also where nothing that draws is installed. Their options are in
`reprise.catalogue.options.displays`.
"""

from dataclasses import dataclass

KINDS = ("figures", "tables")


@dataclass(frozen=True)
class Draws:
    """What a function draws: experiments of these protocols that have these `settings` (dotted).

    `alone`: it draws exactly one. `checks`: it draws checks. `of_experiments` is false for a function that draws the
    paper's claims, choices or arithmetic.
    """

    protocols: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    alone: bool = False
    checks: bool = False
    of_experiments: bool = True


def _of(*protocols: str, settings: tuple[str, ...] = (), alone: bool = False) -> Draws:
    return Draws(protocols, settings, alone)


_OF_PAPER = Draws(of_experiments=False)

FUNCTIONS: dict[str, dict[str, Draws]] = {
    "figures": {
        "shared.curves": Draws(),
        "palindromes.training_curves": _of("final-digit"),
        "books.loss_curves": _of("character-windows"),
        "books.measures_over_steps": _of("character-windows"),
        "rrntn.perplexity_against_matrices": _of(
            "batched-sgd", "subsequence-sgd", settings=("model.mapping", "model.matrices")
        ),
        "gso.loss_against_ratio": _of("line-epochs", settings=("data.tokens", "model.second_order_size")),
        "gso.loss_by_position": _of("line-epochs", alone=True),
        "lecture.ngrams": _of("word-ngram"),
        "lecture.recall": _of("recall"),
        "lecture.error_surface": _of("error-surface", alone=True),
        "lecture.jacobians": _of("recall"),
        "lecture.random_jacobians": _of("random-jacobians"),
        "lecture.taggers": _of("tagging"),
        "lecture.translation_ladder": _of("translation"),
    },
    "tables": {
        "shared.claims": _OF_PAPER,
        "shared.checks": Draws(checks=True),
        "shared.printed": _OF_PAPER,
        "shared.errata": _OF_PAPER,
        "shared.assumptions": _OF_PAPER,
        "shared.perplexity": Draws(),
        "shared.loss_by_count": _of("subsequence-sgd", "windows"),
        "palindromes.convergence": _of("final-digit"),
        "books.loss_at_steps": _of("character-windows"),
        "books.measures": _of("character-windows"),
        "books.expectations": _of("character-windows"),
        "books.samples": _of("character-windows", alone=True),
        "books.completions": _of("character-windows", alone=True),
        "gso.ablation": _of("line-epochs", settings=("data.tokens",)),
        "gso.unit_audit": _of("line-epochs", "ngram"),
        "gso.predictions": _of("line-epochs", alone=True),
        "gso.facts": _of("corpus-facts", alone=True),
        "loglinear.splits": _of("corpus-facts"),
        "loglinear.statistics": _of("corpus-facts"),
        "loglinear.tags": _of("corpus-facts"),
        "loglinear.perplexities": _of("windows"),
        "loglinear.controls": _of("windows"),
        "loglinear.generated": _of("windows"),
        "loglinear.agreement": _of("windows"),
        "lecture.ngrams": _of("word-ngram"),
        "lecture.storage": _of("word-ngram", alone=True),
        "lecture.language_models": _of("window-sgd", "word-ngram"),
        "lecture.recall": _of("recall"),
        "lecture.taggers": _of("tagging"),
        "lecture.pooling": _of("sentence-labels"),
        "lecture.word_order": _of("word-order"),
        "lecture.translation_ladder": _of("translation"),
        "lecture.translation_examples": _of("translation"),
    },
}
"""By kind and "<folder>.<function>" what every function draws."""


def draws(function: str) -> Draws:
    """Return what "<folder>.<function>" draws: anything, where it is not listed."""
    return next((listed[function] for listed in FUNCTIONS.values() if function in listed), Draws())
