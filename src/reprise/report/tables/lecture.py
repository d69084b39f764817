"""Document 003: n-gram models by order and by size of the text, language models of all kinds, and the recall task."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from reprise.data.synthetic.name_lengths import FIXED, SENTENCE_2
from reprise.errors import UserError, known
from reprise.report import reductions, verdicts
from reprise.report.context import Context, of_experiment
from reprise.report.rounding import NONE, fixed, integer, mean, significant, spread
from reprise.report.spreads import INTERVAL, measured, noted, passes
from reprise.report.tables import Column, Table
from reprise.report.words import counted, replicas, replicas_or_absence, settings
from reprise.units import perplexity

_QUANTITIES = {
    "cross_entropy": ("perplexity", perplexity),
    "zero_share": ("share of words with probability 0", float),
    "undefined_share": ("share of words without a probability", float),
    "score_cross_entropy": ("as a perplexity from scores, which it is not", perplexity),
    "score_sum": ("sum of the scores of all words", float),
}
"""Metric of the curves over n -> what it is called, and what is shown of it."""
_UNPREDICTED = "unpredicted_share_order_* test"
_ABOUT = {
    # Where it is infinite a word has no probability, or 0.
    "perplexity": ("cross_entropy* test", _UNPREDICTED),
    "share of words with probability 0": (_UNPREDICTED,),
    "share of words without a probability": (_UNPREDICTED,),
}


def ngrams(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a model and quantity, a column an order: test perplexity, infinite where a word has no probability."""
    names = context.cited_by(table_id)
    orders = range(1, max(context.setting(name, "model.order") for name in names) + 1)
    rows = []
    for name, title in with_variants(context, names):
        found = {metric: context.points(name, metric, "test") for metric in _QUANTITIES}
        entropy = "score_cross_entropy" if len(found["score_sum"]) else "cross_entropy"
        if all(points.empty for points in found.values()):
            rows.append({"experiment": name, "title": title, "quantity": context.status(name).absence})
        for metric, (quantity, shown) in _QUANTITIES.items():
            values = {int(n): shown(mean(v.dropna().to_numpy())) for n, v in found[metric].iterrows()}
            if metric == entropy and len(found["zero_share"]):
                own = range(1, context.setting(name, "model.order") + 1)
                values = {n: values.get(n, math.inf) for n in own}
            if values and not (metric.endswith("_share") and not any(values.values())):
                row = {"experiment": name, "title": title, "quantity": quantity}
                rows.append(row | {f"order_{n}": value for n, value in values.items()})
    columns = [
        Column("Model", lambda row: row["title"], words=True),
        Column("Quantity", lambda row: row["quantity"], words=True),
        *(Column(f"n = {n}", _order(n)) for n in orders),
    ]
    keys = ["experiment", "title", "quantity", *(f"order_{n}" for n in orders)]
    table = Table(columns, pd.DataFrame(rows, columns=keys), corpora(context, names))
    return verdicts.beside(context, table, lambda row: _ABOUT.get(row["quantity"], ("*",)))


def with_variants(context: Context, names: list[str]) -> Iterator[tuple[str, str]]:
    """Every experiment and its title, each with its variants that were run."""
    for name in names:
        yield name, context.entry(name).title
        for assumption, entry in context.paper.assumptions.items():
            for alternative, choice in entry.alternatives.items():
                variant = f"{name}@{assumption}={alternative}"
                if name in choice.experiments and context.status(variant).run:
                    yield variant, f"{context.entry(name).title} ({settings(choice.settings)})"


def _order(n: int) -> Any:
    def show(row: Mapping[str, Any]) -> str:
        value = row[f"order_{n}"]
        if pd.isna(value):
            return NONE
        if math.isinf(value):
            return "∞"
        perplexities = (_QUANTITIES[metric][0] for metric in ("cross_entropy", "score_cross_entropy"))
        return fixed(value, 1 if row["quantity"] in perplexities else 4)

    return show


def storage(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an order, a column a size of the training text: different n-grams."""
    (name,) = context.cited_by(table_id)
    rows = []
    for n in range(1, context.setting(name, "model.order") + 1):
        points = context.points(name, f"stored_order_{n}", "train")
        counts = {f"words_{int(words)}": float(v.iloc[0]) for words, v in points.iterrows()}
        rows.append({"experiment": name, "order": n} | counts)
    frame = pd.DataFrame(rows)
    sizes = [column for column in frame if column.startswith("words_")]
    columns = [Column("n", lambda row: integer(row["order"]))]
    columns += [Column(f"{int(size[6:]):,} words", _count(size)) for size in sizes]
    notes = corpora(context, [name])
    notes = notes if sizes else [*notes, f"{context.status(name).absence.capitalize()}."]
    return verdicts.beside(context, Table(columns, frame, notes), lambda row: (f"stored_order_{row['order']}* train",))


def _count(size: str) -> Any:
    return lambda row: integer(row[size])


def language_models(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a model: test perplexity of the notes' own, then of those cited from other papers.

    Option `cited`: "<paper>/<experiment>", one after the other; they are as the same tier has them. Notes say of which
    models the tier changes settings, since not all of them have the same left.
    """
    cited = options["cited"].split()
    own = context.cited_by(table_id)
    rows, models = [_language_model(context, name, "") for name in own], [(context, name) for name in own]
    where = context.option_key(table_id, "cited")
    notes = corpora(context, own)
    for entry in cited:
        paper, _, name = entry.partition("/")
        if paper not in context.papers:
            notes.append(f"{entry}: the paper {paper} is not among the configured ones.")
            continue
        other = context.papers[paper]
        if name not in other.paper.experiments:
            raise UserError(f"{where}: {paper} has no experiment '{name}'; {known(name, other.paper.experiments)}")
        rows.append(_language_model(other, name, f"document {other.paper.document}"))
        models.append((other, name))
        notes += corpora(other, [name])
    changes = reductions.grouped(models).items()
    notes += [f"{'; '.join(titles)}: at this tier {changed}." for changed, titles in changes if changed]
    stored = [context.entry(name).title for name in own if context.entry(name).training.protocol == "word-ngram"]
    if stored:
        notes.append(f"Parameters of {'; '.join(stored)}: the n-grams that they store.")
    frame = pd.DataFrame(rows).astype({"parameters": "Int64"})
    cut = passes(frame, ("mean", "reach"), ("valid_mean", "valid_reach"))
    table = Table(_MODELS, frame, [*notes, *noted(context, own, frame, least=cut)])
    return verdicts.beside(context, table, lambda row: ("perplexity *", "cross_entropy *"))


def _language_model(context: Context, name: str, source: str) -> dict[str, Any]:
    ours, valid = (measured(context, name, "perplexity", split) for split in ("test", "valid"))
    parameters = of_experiment(context.metrics, name).parameters.dropna()
    status = context.status(name)
    return {
        "source": source,
        "experiment": f"{context.paper_id}/{name}",
        "title": context.entry(name).title,
        "parameters": int(parameters.iloc[0]) if len(parameters) else None,
        "mean": ours.mean,
        "std": ours.own,
        "reach": ours.reach,
        "valid_mean": valid.mean,
        "valid_std": valid.own,
        "valid_reach": valid.reach,
        **counted(status),
        "absence": "diverged" if status.run else status.absence,
    }


def recall(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a network: the names recalled over the distances of both sentences and the longest, and Jacobian norms."""
    names = context.cited_by(table_id)
    longest = {name: FIXED + context.setting(name, "data.filler") for name in names}
    rows, about = [], {}
    for name in names:
        row: dict[str, Any] = {"experiment": name, "title": context.entry(name).title, "longest": longest[name]}
        quantities = {
            "sentence_1": ("test", f"accuracy_at_{FIXED}"),
            "sentence_2": ("test", f"accuracy_at_{FIXED + SENTENCE_2}"),
            "far": ("test", f"accuracy_at_{longest[name]}"),
            "start": ("start", f"log10_jacobian_at_{longest[name]}"),
            "end": ("end", f"log10_jacobian_at_{longest[name]}"),
        }
        for key, (split, metric) in quantities.items():
            found = measured(context, name, metric, split)
            row |= {key: found.mean, f"{key}_std": found.own, f"{key}_reach": found.reach}
        asked = [f"{metric} {split}" for split, metric in quantities.values()]
        about[name] = asked
        rows.append(row | counted(context.status(name)))
    far = " or ".join(str(distance) for distance in sorted(set(longest.values())))
    columns = [
        Column("Network", lambda row: row["title"], words=True),
        Column(f"Recalled ± {INTERVAL}: sentence 1, {FIXED} words", _accuracy("sentence_1")),
        Column(f"Sentence 2, {FIXED + SENTENCE_2} words", _accuracy("sentence_2")),
        Column(f"{far} words", _accuracy("far")),
        Column(f"Norm over {far} words: before training", _norm("start")),
        Column("after", _norm("end")),
        Column("Replicas", replicas_or_absence),
    ]
    chance = {1 / context.setting(name, "data.names") for name in names}
    notes = [f"By guessing {', '.join(fixed(share, 2) for share in chance)}. Norms: geometric mean over replicas."]
    frame = pd.DataFrame(rows)
    notes += [*reductions.sentences(context, names), *noted(context, names, frame, shares=True)]
    return verdicts.beside(context, Table(columns, frame, notes), lambda row: about[row["experiment"]])


def _accuracy(key: str) -> Any:
    return lambda row: spread(row[key], row[f"{key}_reach"], 3, share=True)


def _norm(key: str) -> Any:
    return lambda row: NONE if pd.isna(row[key]) else significant(10.0 ** row[key], 2)


def corpora(context: Context, names: list[str]) -> list[str]:
    """One line a corpus that the tier takes in the place of the configured one."""
    others: dict[str, list[str]] = {}
    for name in names:
        if replaced := context.replaced_dataset(name):
            others.setdefault(replaced, []).append(context.entry(name).title)
    return [f"On “{context.dataset_title(other)}” at this tier: {'; '.join(t)}." for other, t in others.items()]


def _ours(row: Mapping[str, Any]) -> str:
    return spread(row["mean"], row["reach"], 2, least=1.0) if row["n"] else row["absence"]


_MODELS = [
    Column("Model", lambda row: row["title"], words=True),
    Column("From", lambda row: row["source"] or "here", words=True),
    Column("Parameters", lambda row: integer(row["parameters"])),
    Column(f"Test perplexity ± {INTERVAL}", _ours),
    Column(f"Validation ± {INTERVAL}", lambda row: spread(row["valid_mean"], row["valid_reach"], 2, least=1.0)),
    Column("Replicas", lambda row: replicas(row["n"], row["wanted"], row["diverged"])),
]
