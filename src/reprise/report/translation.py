"""What figures and tables of the translation model share: its translations, how BLEU was counted, and on which text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reprise.evidence.bleu import KIND
from reprise.report.context import Context, of_experiment
from reprise.report.reductions import reduced


def translations(context: Context, name: str) -> list[dict[str, Any]]:
    """The samples with all test translations of an experiment, a finished replica each."""
    return [sample for sample in context.samples(name, None) if sample["kind"] == KIND]


def signatures(context: Context, names: Sequence[str]) -> list[str]:
    """How the BLEU of these experiments was counted; sacrebleu's signatures, each once."""
    rows = (of_experiment(context.metrics, name) for name in names)
    return list(dict.fromkeys(unit for row in rows for unit in row[row.metric == "bleu"].unit))


def corpora(context: Context, names: Sequence[str]) -> list[str]:
    """The text that this tier trains on in the place of the configured one, else what it reduces; each said once."""
    notes: dict[str, list[str]] = {}
    for name in names:
        other = context.replaced_dataset(name)
        said = f"on “{context.dataset_title(other)}”" if other else reduced(context, name)
        if said:
            notes.setdefault(said, []).append(context.entry(name).title)
    everyone = len(names)
    return [
        f"{'All' if len(titles) == everyone else '; '.join(titles)} at this tier: {text}."
        for text, titles in notes.items()
    ]
