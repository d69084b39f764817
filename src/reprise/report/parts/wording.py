"""Write what tables and figures share: symbols, settings, counts of replicas, and notes on budgets and corpora."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reprise.config.schema import ANY, Paper
from reprise.records.resolved import FULL
from reprise.report.parts.context import Context, Status
from reprise.report.parts.reductions import describe_reductions
from reprise.report.parts.rounding import format_count, join_words

TIER_NAMES = {FULL: "Tier paper", "reduced": "Tier reduced", "quick": "Tier quick"}
"""The tiers, by the name that a reader sees."""


def add_full_stop(text: str) -> str:
    """End a text with exactly one full stop."""
    return f"{text.strip().removesuffix('.')}."


def explain_symbols(symbols: Mapping[str, str], text: str) -> str:
    """Explain the symbols that a text contains: "H: hidden units; K: recurrence matrices"; "" for none."""
    used_symbols = (name for name in symbols if re.search(rf"(^|[^\w'’-]){re.escape(name)}([^\w'’]|$)", text))
    return "; ".join(f"{name}: {symbols[name].strip()}" for name in used_symbols)


def describe_setting(paper: Paper, name: str, value: Any) -> str:
    """Describe a setting in its paper's words: "one-hot input"; by name and value if the paper has none."""
    wording = paper.wording.get(name, {})
    text = wording.get(str(value).lower(), wording.get(ANY, f"{name.replace('_', ' ')}: {{}}"))
    return text.replace("{}", str(value))


def describe_replacement(paper: Paper, name: str, value: Any, other: Any) -> str:
    """Write "one-hot input instead of feature input"."""
    replaced = other if ANY in paper.wording.get(name, {}) else describe_setting(paper, name, other)
    return f"{describe_setting(paper, name, value)} instead of {replaced}"


def describe_settings(paper: Paper, chosen: Mapping[str, Any]) -> str:
    """Describe the settings of an alternative, in its order: "one-hot input; states of size 9"."""
    return "; ".join(describe_setting(paper, name, value) for name, value in chosen.items())


def count_replicas(status: Status) -> dict[str, Any]:
    """Return the values that a row needs for its column of replicas."""
    reason = f"{status.diverged} of {status.recorded} diverged" if status.diverged else status.missing_reason
    return {"n": status.finished, "planned": status.planned, "diverged": status.diverged, "missing_reason": reason}


def format_replicas_or_absence(row: Mapping[str, Any]) -> str:
    """Write the number of replicas of a row from `count_replicas`; the reason if none has finished."""
    return format_replicas(row["n"], row["planned"], row["diverged"]) if row["n"] else row["missing_reason"]


def format_replicas(finished: int, planned: int, diverged: int = 0) -> str:
    """Write "3"; "1 of 3" if the tier asks for more than have run; "3 (1 diverged)"."""
    run = finished + diverged
    text = f"{run} of {planned}" if planned > run else str(run)
    return f"{text} ({diverged} diverged)" if diverged else text


_MAX_TITLES = 4
"""Up to so many models are listed by title; of more, only the number is given."""


def group_by_reduction(models: Iterable[tuple[Context, str]]) -> dict[str, list[str]]:
    """Group the titles of models by how the tier reduces them; "" holds those that it leaves unchanged."""
    groups: dict[str, list[str]] = {}
    for context, name in models:
        reductions = describe_reductions(context.get_entry(name), context.get_resolved(name)).values()
        groups.setdefault(join_words(list(reductions)), []).append(context.get_title(name))
    return groups


def write_reduction_notes(context: Context, names: Sequence[str]) -> list[str]:
    """Write a sentence for each way in which models are reduced; it lists the models unless all are alike."""
    groups = group_by_reduction((context, name) for name in names)
    models = {
        reduction: "; ".join(titles) if len(titles) <= _MAX_TITLES else format_count(len(titles), "model")
        for reduction, titles in groups.items()
        if reduction
    }
    return [
        f"Reduced run{f' of {titles}' if len(groups) > 1 else ''}: {changed}." for changed, titles in models.items()
    ]


BEST_AT_LAST_EPOCH = "Best at the last epoch, so that more epochs might be better"


def count_best_at_last_epoch(context: Context, names: Iterable[str]) -> dict[str, int]:
    """Count the replicas of each experiment whose best epoch is the last that the budget allows."""
    last_epochs = {name: context.get_setting(name, "training.max_epochs") for name in names}
    return {
        name: int((context.get_values_by_replica(name, "best_epoch", "valid") == last_epochs[name]).sum())
        for name in last_epochs
    }


def write_model_note(statement: str, context: Context, counts: Mapping[str, int]) -> list[str]:
    """Write a sentence that lists the models with a count above 0, as "LSTM (2 of 3 replicas)"."""
    finished = {name: context.get_status(name).finished for name in counts}
    titles = [
        f"{context.get_title(name)} ({count} of {finished[name]} replicas)"
        if finished[name] > 1
        else context.get_title(name)
        for name, count in counts.items()
        if count
    ]
    return [f"{statement}: {'; '.join(titles)}."] if titles else []


def write_corpus_notes(context: Context, names: Iterable[str]) -> list[str]:
    """Write a sentence for each corpus that replaces one of the paper's, with the models trained on it."""
    names, groups = list(names), {}
    for name in names:
        if read := context.find_replaced_dataset(name):
            pair = context.datasets[read].title, context.datasets[context.get_entry(name).data.dataset].title
            groups.setdefault(pair, []).append(context.get_title(name))
    models = ["All models" if len(titles) == len(names) > 1 else "; ".join(titles) for titles in groups.values()]
    pairs = zip(models, groups, strict=True)
    return [f"{titles}: trained on “{read}”; the tier paper uses “{replaced}”." for titles, (read, replaced) in pairs]


def name_corpus(context: Context, name: str) -> str:
    """Return the title of the corpus that this tier reads for an experiment; "" without a corpus."""
    entry = context.get_entry(name).data
    dataset = context.find_replaced_dataset(name) or (entry.dataset if entry else "")
    return context.datasets[dataset].title if dataset else ""
