"""Words that tables share: how many replicas there are of those asked for, what settings mean, and full stops."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reprise.config.schema import ANY, Paper
from reprise.records.resolved import FULL
from reprise.report.parts.context import Context, Status
from reprise.report.parts.reductions import changes
from reprise.report.parts.rounding import listed, plural

PROTOCOLS = {FULL: "Full protocol", "reduced": "Reduced budget", "quick": "Quick run"}
"""What a reader calls the tiers."""


def sentence(text: str) -> str:
    """Return the text with one full stop at its end, whether it had one or not."""
    return f"{text.strip().removesuffix('.')}."


def cut(text: str, width: int) -> str:
    """Return the text in at most so many characters, cut at a word."""
    text = text.removesuffix(".")
    if len(text) <= width:
        return text
    return f"{text[: width - 1].rpartition(' ')[0].rstrip(',;: ')} …"


def explain_symbols(symbols: Mapping[str, str], text: str) -> str:
    """Write "H: hidden units; K: recurrence matrices": the symbols that stand in a text as words; "" of none."""
    used = (name for name in symbols if re.search(rf"(?<![\w'’-]){re.escape(name)}(?![\w'’])", text))
    return "; ".join(f"{name}: {symbols[name].strip()}" for name in used)


def setting(paper: Paper, name: str, value: Any) -> str:
    """Put a setting in the words of its paper: "one-hot input"; without any, its name and value."""
    stated = paper.wording.get(name, {})
    return stated.get(str(value).lower(), stated.get(ANY, f"{name.replace('_', ' ')}: {{}}")).format(value)


def instead(paper: Paper, name: str, value: Any, other: Any) -> str:
    """Write "one-hot input instead of feature input"."""
    in_words = other if ANY in paper.wording.get(name, {}) else setting(paper, name, other)
    return f"{setting(paper, name, value)} instead of {in_words}"


def settings(paper: Paper, chosen: Mapping[str, Any]) -> str:
    """Write "one-hot input; states of size 9": the settings of an alternative in words, in its order."""
    return "; ".join(setting(paper, name, value) for name, value in chosen.items())


def counted(status: Status) -> dict[str, Any]:
    """Return what a row holds for its column of replicas."""
    diverged = f"{status.diverged} of {status.run} diverged" if status.diverged else status.absence
    return {"n": status.finished, "wanted": status.wanted, "diverged": status.diverged, "absence": diverged}


def replicas_or_absence(row: Mapping[str, Any]) -> str:
    """`replicas` of a row with what `counted` gave; why there is none where none has finished."""
    return replicas(row["n"], row["wanted"], row["diverged"]) if row["n"] else row["absence"]


def replicas(finished: int, wanted: int, diverged: int = 0) -> str:
    """Write "3", or "1 of 3" where the tier asks for more than have run; "3 (1 diverged)"."""
    run = finished + diverged
    text = f"{run} of {wanted}" if wanted > run else str(run)
    return f"{text} ({diverged} diverged)" if diverged else text


_NAMED = 4
"""So many models are called by name; of more, their number is said."""


def by_reduction(models: Iterable[tuple[Context, str]]) -> dict[str, list[str]]:
    """Titles of models, whichever paper they are of, by how the tier changes them; "" has those that it leaves."""
    groups: dict[str, list[str]] = {}
    for context, name in models:
        changed = changes(context.entry(name), context.resolved(name)).values()
        groups.setdefault(listed(list(changed)), []).append(context.title(name))
    return groups


def reductions(context: Context, names: Sequence[str]) -> list[str]:
    """Write a sentence for each way in which models are changed, with these models unless all are alike."""
    groups = by_reduction((context, name) for name in names)
    named = {c: "; ".join(t) if len(t) <= _NAMED else plural(len(t), "model") for c, t in groups.items() if c}
    return [f"Reduced run{f' of {titles}' if len(groups) > 1 else ''}: {changed}." for changed, titles in named.items()]


AT_THE_END = "Best at the last epoch, so more might be better"


def best_at_the_end(context: Context, names: Iterable[str]) -> dict[str, int]:
    """How many replicas of each experiment are best at the last epoch that they may have."""
    last = {name: context.setting(name, "training.max_epochs") for name in names}
    return {name: int((context.by_fold(name, "best_epoch", "valid") == last[name]).sum()) for name in last}


def of_which(statement: str, context: Context, concerned: Mapping[str, int]) -> list[str]:
    """Write the sentence on the models of which so many replicas are concerned, with the count of several."""
    n = {name: context.status(name).finished for name in concerned}
    titles = [
        f"{context.title(name)} ({count} of {n[name]} replicas)" if n[name] > 1 else context.title(name)
        for name, count in concerned.items()
        if count
    ]
    return [f"{statement}: {'; '.join(titles)}."] if titles else []


def corpora(context: Context, names: Iterable[str]) -> list[str]:
    """Return a sentence for each corpus that stands in for one of the paper's, with the models trained on it."""
    names, groups = list(names), {}
    for name in names:
        if used := context.replaced_dataset(name):
            texts = context.datasets[used].title, context.datasets[context.entry(name).data.dataset].title
            groups.setdefault(texts, []).append(context.title(name))
    who = ["All models" if len(titles) == len(names) > 1 else "; ".join(titles) for titles in groups.values()]
    pairs = zip(who, groups, strict=True)
    return [f"{titles}: trained on “{used}”; the paper used “{stated}”." for titles, (used, stated) in pairs]


def corpus(context: Context, name: str) -> str:
    """Return the title of the corpus that this tier reads for an experiment, else of that in its file; "" of none."""
    stated = context.entry(name).data
    read = context.replaced_dataset(name) or (stated.dataset if stated else "")
    return context.datasets[read].title if read else ""
