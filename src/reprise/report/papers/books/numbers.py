"""What figures and tables of the books share: which steps they look at, and the losses near them."""

from __future__ import annotations

import pandas as pd

from reprise.report.parts.context import Context

ORIGINAL_CURVES = "uva_text_loss_curves.csv"
NEIGHBOURS = 100
"""Losses of so many steps before and after one are averaged with its own: a single batch's is noisy."""
EXPECTED = [
    ("hansel", "expected_log_probability", "P of “etel” after “Hansel and Gr”"),
    ("hansel", "expected_rank", "rank of “e” there"),
    ("operator", "blank_probability", "P of a blank after “… a vector space.”"),
    ("operator-blank", "capital_probability", "P of a capital after that blank"),
    ("temperature-1", "next_character_entropy", "entropy of the next character, nats, temperature 1"),
    ("temperature-0.8", "next_character_entropy", "the same at temperature 0.8"),
    ("book", "words_in_licence", "words of the licence in excerpts of the file"),
    ("sample", "words_in_licence", "words of the licence after a random character"),
    ("hamlet", "words_in_licence", "after “To be, or not to be …”"),
    ("history", "words_in_licence", "after “History will be kind …”"),
    ("hansel", "words_in_licence", "after “Hansel and Gr”"),
    ("operator", "words_in_licence", "after “Let T be a bounded …”"),
    ("bird", "words_in_licence", "after “Mas vale pajaro …”"),
    ("book", "words_in_book", "words of the book in excerpts of the file"),
    ("sample", "words_in_book", "words of the book after a random character"),
    ("hamlet", "words_in_book", "words of the book after “To be, or not to be …”"),
    ("history", "words_in_book", "words of the book after “History will be kind …”"),
    ("hansel", "words_in_book", "words of the book after “Hansel and Gr”"),
    ("operator", "words_in_book", "words of the book after “Let T be a bounded …”"),
    ("bird", "words_in_book", "words of the book after “Mas vale pajaro …”"),
]
"""Split, metric and name of what is measured after the prompts."""


def original_of(context: Context, name: str) -> pd.Series | None:
    """The original's losses by step; None where this tier trains on another text, or there is no original."""
    rows = context.original(ORIGINAL_CURVES)
    rows = rows[rows.book == name.partition("@")[0]]
    if context.replaced_dataset(name) or rows.empty:
        return None
    return rows.set_index("step").train_loss_nats


def table_steps(context: Context, name: str) -> list[int]:
    """The steps of the document's tables, as this tier has them, up to the last one that is trained; not step 0."""
    every, steps = (context.setting(name, f"training.{option}") for option in ("table_every", "steps"))
    return list(range(every, steps, every))


def loss_near(points: pd.DataFrame, step: int) -> pd.Series:
    """Mean loss of each replica at most NEIGHBOURS steps from `step`."""
    return points[(points.index >= step - NEIGHBOURS) & (points.index <= step + NEIGHBOURS)].mean()


def original_near(original: pd.Series, step: int) -> tuple[float, float]:
    """Mean and standard deviation of the original's losses there."""
    near = original[(original.index >= step - NEIGHBOURS) & (original.index <= step + NEIGHBOURS)]
    return float(near.mean()), float(near.std())
