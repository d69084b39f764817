"""Document 004, Tables 1 to 3: a treebank's splits, sizes and tags, from the records of `corpus-facts` experiments."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pandas as pd

from reprise.errors import require_known
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, picked, signed, text, values, with_variants
from reprise.report.parts import verdicts, words
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import NONE, fixed, integer, mean
from reprise.report.parts.spreads import INTERVAL, measured, noted
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.words import instead, replicas
from reprise.units import perplexity

SPLITS = {"train": "Training", "valid": "Validation", "test1": "Test1", "test2": "Test2"}
STATISTICS = {
    "sentences": ("Total sentences", 0),
    "tokens": ("Tokens", 0),
    "average_sentence_length": ("Avg. sent. length", 2),
    "types": ("Types", 0),
    "token_type_ratio": ("Token-type ratio", 2),
}
"""Metric -> what Table 2 calls it, and its decimals there."""
_POS = "ADJ ADP ADV AUX CONJ DET INTJ NIL NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X _"
_FEATURES = {
    "Case": "Abl Acc Nom Voc",
    "Definite": "Def Ind",
    "Degree": "Cmp",
    "Gender": "Fem Masc Neut",
    "Mood": "Cnd Imp Ind Sub",
    "Number": "Plur Sing",
    "Person": "1 2 3",
    "PronType": "Dem Ind Int Neg Prs Rel",
    "Reflex": "Yes",
    "Tense": "Fut Imp Past Pres",
    "VerbForm": "Fin Inf Part",
}
PAPER_TAGS = [f"{name}:{value}" for name, values in {"POS": _POS, **_FEATURES}.items() for value in values.split(" ")]
"""The 52 tags of Table 3, in its order; names that are cut there (POS:PUNC, POS:SCON, PronType:In) in full."""


def splits(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Table 1: sentences of every split, a row a corpus and split, with the variants that this tier has."""
    return _compared(context, table_id, [(split, "sentences", title, 0) for split, title in SPLITS.items()], "Split")


def statistics(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Table 2: sentences, tokens, types and their ratios, a row a corpus and number, with this tier's variants."""
    quantities = [("all", metric, title, places) for metric, (title, places) in STATISTICS.items()]
    return _compared(context, table_id, quantities, "Statistic")


def tags(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Table 3: a row a tag of the paper or of a corpus, with the tokens and types of each corpus that bear it."""
    names = context.cited_by(table_id)
    counts = {name: {kind: _by_tag(context, name, kind) for kind in ("tokens", "types")} for name in names}
    others = {tag for kinds in counts.values() for tag in kinds["tokens"]} - set(PAPER_TAGS)
    rows = []
    for tag in [*PAPER_TAGS, *sorted(others, key=lambda tag: (not tag.startswith("POS:"), tag))]:
        row: dict[str, Any] = {"tag": tag, "paper": tag in PAPER_TAGS}
        for name in names:
            for kind, by_tag in counts[name].items():
                row[f"{name}.{kind}"] = by_tag.get(tag, 0) if by_tag else None
        rows.append(row)
    columns = [text("Tag", "tag"), Column("In the paper", lambda row: cells.yes_or_no(row["paper"]), words=True)]
    for name in names:
        absence = context.status(name).absence_of(counts[name]["tokens"] or None)
        for kind in counts[name]:
            columns.append(_count_column(f"{context.title(name)}: {kind}", f"{name}.{kind}", absence))
    return Table(columns, pd.DataFrame(rows), [_tag_note(context, name, counts[name]["tokens"]) for name in names])


def _compared(context: Context, table_id: str, quantities: list[tuple[str, str, str, int]], what: str) -> Table:
    """Return the paper's number and ours for (split, metric, title, decimals), of cited experiments and variants."""
    rows = []
    for name, title in with_variants(context, context.cited_by(table_id), waiting=True):
        for split, metric, quantity, places in quantities:
            own, paper = next(iter(context.values(name, metric, split)), None), context.printed(name, metric, split)
            row = {"experiment": name, "title": title, "corpus": words.corpus(context, name), "quantity": quantity}
            row |= {"decimals": places, "paper": paper, "ours": own}
            row["difference"] = None if None in (own, paper) else own - paper
            rows.append(row | {"absence": context.status(name).absence_of(own)})
    columns = [
        text("Experiment", "title"),
        text("Corpus", "corpus"),
        text(what, "quantity"),
        Column("Paper", lambda row: fixed(row["paper"], row["decimals"])),
        Column("Ours", lambda row: row["absence"] if pd.isna(row["ours"]) else fixed(row["ours"], row["decimals"])),
        Column("Ours − paper", lambda row: fixed(row["difference"], row["decimals"])),
    ]
    return Table(columns, pd.DataFrame(rows))


def _by_tag(context: Context, name: str, kind: str) -> dict[str, float]:
    """Tokens or types by tag, from the first finished replica; empty where there is none."""
    prefix = f"tag_{kind}."
    return {metric.removeprefix(prefix): value for metric, (value, _) in _first_of(context, name, prefix).items()}


def _first_of(context: Context, name: str, start: str) -> dict[str, tuple[float, int | None]]:
    """Collect value and n of all metrics that begin so, from the first finished replica that has each."""
    first: dict[str, tuple[float, int | None]] = {}
    for replica in context.replicas(name, "finished"):
        for (metric, split), value in replica.metrics.items():
            if metric.startswith(start):
                first.setdefault(metric, (value, replica.sizes[metric, split]))
    return first


def _count_column(title: str, key: str, absence: str) -> Column:
    return Column(title, lambda row: absence if pd.isna(row[key]) else integer(row[key]))


def _tag_note(context: Context, name: str, counts: Mapping[str, float]) -> str:
    title = f"{context.title(name)} ({words.corpus(context, name)})"
    if not counts:
        return f"{title}: {context.status(name).absence_of(None)}."
    missing = [tag for tag in PAPER_TAGS if tag not in counts]
    added = sorted(set(counts) - set(PAPER_TAGS))
    named = [f"{words} {', '.join(them)}" for words, them in (("without", missing), ("besides", added)) if them]
    return f"{title}: {len(counts)} tags, the paper's {len(PAPER_TAGS)}{' ' + '; '.join(named) if named else ''}."


METRIC, BEST = "cross_entropy", "cross_entropy_best"
_OF_FEATURES = ("features_from", "top_types", "word_identity")
SHOWN = {"train": "Train", "test1": "Test1", "test2": "Test2"}
BOTH = "tests"


def perplexities(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a table a split, a row an experiment: the paper's log-perplexity and ours, at the last epoch and the best.

    The paper's numbers stand beside ours on another release of its treebank too; the notes say which one it is.
    """
    names = context.cited_by(table_id)
    wide = [_row(context, name) for name in names]
    rows = pd.DataFrame([_of_split(row, split) for split in SHOWN for row in wide]).astype({"parameters": "Int64"})
    given = rows.paper.notna().any()
    columns = [
        cells.MODEL,
        *([cells.number("Paper", "paper", 2)] if given else []),
        cells.ours(f"Ours ± {INTERVAL}", "mean", 3),
        *([Column("Gap (in SD)", _gap)] if given else []),
        cells.number("Best epoch, or reread", "other", 3),
        Column("n", _replicas),
    ]
    notes = [*words.corpora(context, names), *_factor(context, names)]
    if rows[rows.split == SHOWN["train"]].other.notna().any():
        notes.append("Reread: of Train, the loss of the last weights over the training part.")
    notes += noted(context, names, rows, gaps=bool(given))
    return verdicts.add_claims(context, Table(columns, rows, notes, by="split"), _about)


def _of_split(row: Row, split: str) -> dict[str, Any]:
    """Return what a row of all splits has of one."""
    shared = ("experiment", "title", "parameters", "epochs", "best_epoch", "diverged", "run", "wanted", "absence")
    own = ("paper", "mean", "std", "low", "high", "single", "deviation", "gap", "gap_in_std")
    by_column = {key: row[key] for key in shared} | {key: row.get(f"{split}_{key}") for key in own}
    return {"split": SHOWN[split]} | by_column | {"other": row["train_read" if split == "train" else f"{split}_best"]}


def controls(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a model: the one of `base` or `full` that it differs least from, in what, and the change on the tests.

    The change is that of the last epochs, which Table 4 is of, and beside it that of the best ones: where losses rise
    to the end, the last epoch of two models may say more of where they stopped. Each change has a sentence, in which
    it is also a share of what lies between `base` and `full`; the experiments' own notes stand last.
    """
    ends, names = (options["base"], options["full"]), context.cited_by(table_id)
    for key, name in zip(("base", "full"), ends, strict=True):
        require_known(name, names, context.option_key(table_id, key), "experiment of this table")
    rows, notes = [], words.corpora(context, names)
    gain, best_gain = (_above(context, *ends, metric) for metric in (METRIC, BEST))
    if gain is not None:
        base, full = map(context.title, ends)
        text = f"{full} is {_better(-gain, ' nats per token')} than {base} on both tests together at the last epochs"
        notes.append(f"{text}." if best_gain is None else f"{text}, and {_better(-best_gain)} at the best ones.")
    for name in names:
        nearest = None if name in ends else min(ends, key=lambda end: len(_differences(context, name, end)))
        row = _row(context, name) | {"beside": context.title(nearest) if nearest else ""}
        row["difference"] = "; ".join(_differences(context, name, nearest)) if nearest else ""
        for key, metric in (("change", METRIC), ("change_best", BEST)):
            row[key] = _above(context, name, nearest, metric) if nearest else None
        rows.append(row)
        if row["change"] is not None:
            notes.append(_sentence(row, gain, best_gain))
    frame = pd.DataFrame(rows).astype({"parameters": "Int64"})
    notes += noted(context, names, frame)
    notes += [f"{context.title(name)}: {note}" for name in names if (note := context.entry(name).note)]
    columns = [
        cells.MODEL,
        Column("Beside", lambda row: row["beside"] or NONE, words=True),
        Column("Difference", lambda row: row["difference"] or NONE, words=True),
        Column("Change", lambda row: signed(row["change"], 3)),
        *(cells.ours(f"{title} ± {INTERVAL}", f"{split}_mean", 3) for split, title in SHOWN.items()),
        Column("Change, best epochs", lambda row: signed(row["change_best"], 3)),
        Column("Replicas", _replicas),
        cells.PARAMETERS,
    ]
    return verdicts.add_claims(context, Table(columns, frame, notes), _about)


def _about(row: Row) -> list[str]:
    return [f"{METRIC}* {split}" for split in (*SHOWN, BOTH)]


def _row(context: Context, name: str) -> dict[str, Any]:
    row = {
        "experiment": name,
        "title": context.title(name),
        "parameters": cells.parameters(context, name),
        "train_read": mean(context.values(name, "cross_entropy_evaluated", "train")),
        "epochs": mean(context.values(name, "epochs", "train")),
        "best_epoch": mean(context.values(name, "best_epoch", "valid")),
        **picked(context.status(name), "diverged", "run", "wanted", "absence"),
    }
    for split in SHOWN:
        measurement, paper = measured(context, name, METRIC, split), _paper(context, name, split)
        row |= {f"{split}_paper": paper, **values(measurement, f"{split}_mean")}
        row |= {f"{split}_deviation": measurement.deviation, f"{split}_freedom": measurement.df}
        row |= {f"{split}_gap": measurement.gap(paper), f"{split}_gap_in_std": measurement.gap_in_deviations(paper)}
        row[f"{split}_best"] = mean(context.values(name, BEST, split))
    return row


def _paper(context: Context, name: str, split: str) -> float | None:
    """Return the paper's number, if this tier trains on the paper's corpus or on another release of its kind."""
    used, stated = context.replaced_dataset(name), context.entry(name).data.dataset
    alike = used is None or context.datasets[used].prepare == context.datasets[stated].prepare
    return context.printed(name, METRIC, split) if alike else None


def _factor(context: Context, names: list[str]) -> list[str]:
    """Return the sentence on the factor between the softmax RNN and the best log-linear model, on Test1."""
    frame = pd.DataFrame({"title": map(context.title, names)})
    frame["output"] = [context.setting(name, "model.output") for name in names]
    frame["ours"] = [mean(context.values(name, METRIC, "test1")) for name in names]
    frame["paper"] = [_paper(context, name, "test1") for name in names]
    run = frame.dropna(subset="ours")
    best = run.loc[run.groupby("output").ours.idxmin()].set_index("output")
    if len(best) < 2:
        return []
    rnn, linear = best.loc["softmax"], best.loc["log-linear"]
    ours, theirs = perplexity(rnn.ours), perplexity(linear.ours)
    count = (run.output == "log-linear").sum()
    best_of = f", the best of {count}" if count > 1 else ""
    printed = frame.astype({"paper": float}).groupby("output").paper.min()
    paper = f" (paper: {fixed(perplexity(printed['softmax'] - printed['log-linear']), 2)})"
    return [
        f"Test1: perplexity {fixed(ours, 0)} of {rnn.title} and {fixed(theirs, 0)} of {linear.title}{best_of}: "
        f"a factor of {fixed(ours / theirs, 2)}{paper if printed.notna().all() else ''}."
    ]


def _differences(context: Context, name: str, other: str) -> list[str]:
    """Return the model settings in which an experiment differs from another, where both have them."""
    mine, theirs = (
        {key: context.setting(run, f"model.{key}") for key in context.entry(run).model.settings}
        for run in (name, other)
    )
    plain = any((of["input"], of["output"]) == ("one-hot", "softmax") for of in (mine, theirs))
    both = [key for key in mine if key in theirs and not (plain and key in _OF_FEATURES)]
    return [instead(context.paper, key, mine[key], theirs[key]) for key in both if mine[key] != theirs[key]]


def _above(context: Context, name: str, other: str, metric: str) -> float | None:
    """By how much the mean of an experiment is above another's on both tests together; None where one has none."""
    values = [mean(context.values(run, metric, BOTH)) for run in (name, other)]
    return None if None in values else values[0] - values[1]


def _sentence(row: Row, gain: float | None, best_gain: float | None) -> str:
    change, best = row["change"], row["change_best"]
    text = f"{row['title']}: {_better(change, ' nats per token')} than {row['beside']}"
    text += _share(change, gain, "that gain")
    return f"{text}." if best is None else f"{text}; at the best epochs {_better(best)}{_share(best, best_gain)}."


def _better(change: float, unit: str = "") -> str:
    return f"{fixed(abs(change), 3)}{unit} {'worse' if change > 0 else 'better'}"


def _share(change: float, gain: float | None, of: str = "the gain there") -> str:
    if not gain or gain <= 0:
        return ""
    return f", {'as much as ' if change > 0 else ''}{fixed(100 * abs(change) / gain, 0)} % of {of}"


def _gap(row: Row) -> str:
    gap, in_std = signed(row["gap"], 3), row["gap_in_std"]
    return gap if pd.isna(in_std) else f"{gap} ({fixed(in_std, 1)})"


def _replicas(row: Row) -> str:
    return replicas(row["run"] - row["diverged"], row["wanted"], row["diverged"])


NIL, NOT_TOP = "@nil", "TOPFORM:@notTop"
LEAST, MOST = 6, 30
"""Words of a sentence that is shown; of a longer one, or of a text without ends of sentences, the first ones."""

WORDS_METRIC, BY_FREQUENCY, ALL = "agreement", "agreement_by_frequency", "all"


def generated(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a word of the first whole sentence that the cited model wrote, with its features."""
    (name, *_) = context.cited_by(table_id)
    written = [sample for sample in context.samples(name, None) if "features" in sample]
    sample, pairs = next(((sample, part) for sample in written for part in _sentences(sample)), ({}, []))
    note = f": {'no sentence of this length' if written else context.status(name).absence}."
    if pairs:
        note = (
            f", replica {sample['replica']}, epoch {sample['epoch']}: {len(pairs)} words, "
            f"{sum(NOT_TOP in features for _, features in pairs)} of them outside the most frequent ones (@notTop)."
        )
    rows = pd.DataFrame(pairs, columns=["word", "features"])
    return Table([text("Word", "word"), text("Features", "features")], rows, [f"{context.title(name)}{note}"])


def agreement(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a model and feature: the share of pairs judged right, of all and by distance.

    After the models stands, for each corpus, what choosing the form that is more frequent in it would give.
    """
    names = context.cited_by(table_id)
    groups = {name: _groups(context, name) for name in names}
    spans = list(dict.fromkeys(span for of_model in groups.values() for _, span in of_model)) or [ALL]
    judged = [(name, WORDS_METRIC, context.title(name)) for name in names]
    first: dict[str, str] = {}
    for name in filter(groups.get, names):
        first.setdefault(words.corpus(context, name), name)
    judged += [(name, BY_FREQUENCY, f"the more frequent form, {corpus}") for corpus, name in first.items()]
    rows = []
    for name, metric, title in judged:
        for feature in dict.fromkeys(feature for feature, _ in groups[name]) or [ALL]:
            row = {"experiment": name, "model": title, "feature": feature, "metric": metric}
            row["absence"] = context.status(name).absence
            for span in spans:
                row[span] = mean(context.values(name, f"{metric}/{feature}/{ALL}/{span}", BOTH))
                row[f"{span}: pairs"] = groups[name].get((feature, span))
            rows.append(row)

    def about(row: Row) -> list[str]:
        """Claims are about models, not about what counting gives."""
        return [f"{WORDS_METRIC}/{row['feature']}/{ALL}/* {BOTH}"] if row["metric"] == WORDS_METRIC else []

    columns = [text("Model", "model"), text("Feature", "feature"), *map(_words_share, spans)]
    notes = [
        _against(context, name, other, spans)
        for name in names
        if groups[name] and (other := first[words.corpus(context, name)]) != name
    ]
    return verdicts.add_claims(context, Table(columns, pd.DataFrame(rows), notes), about)


def _groups(context: Context, name: str) -> dict[tuple[str, str], int]:
    """(feature, distance) -> number of pairs, of the groups over all kinds that the records hold."""
    groups = _first_of(context, name, f"{WORDS_METRIC}/")
    parts = ((*metric.split("/")[1:], int(n)) for metric, (_, n) in groups.items())
    return {(feature, span): n for feature, kind, span, n in parts if kind == ALL}


def _words_share(span: str) -> Column:
    def show(row: Row) -> str:
        if pd.isna(row[span]):
            return row["absence"] if span == ALL else NONE
        return f"{fixed(100 * row[span], 1)} % of {integer(row[f'{span}: pairs'])}"

    return Column("All" if span == ALL else f"Distance {span}", show)


def _against(context: Context, name: str, other: str, spans: list[str]) -> str:
    """Return what a model has gained on the first one of its corpus at every distance."""
    parts = []
    for span in spans:
        gain = _above(context, name, other, f"{WORDS_METRIC}/{ALL}/{ALL}/{span}")
        if gain is not None:
            where = "of all pairs" if span == ALL else f"at distance {span}"
            parts.append(f"{fixed(100 * gain, 1)} {where}")
    return f"{context.title(name)} against {context.title(other)}, percentage points: {', '.join(parts)}."


def _sentences(sample: Mapping[str, Any]) -> list[list[tuple[str, str]]]:
    """Return the whole sentences of a text, each word with its features; the text's head if it has none."""
    pairs = list(zip(sample["words"], sample["features"], strict=True))
    ends = [i for i, (word, _) in enumerate(pairs) if word == NIL]
    if not ends:
        return [pairs[:MOST]]
    return [pairs[a + 1 : b][:MOST] for a, b in pairwise(ends) if b - a > LEAST]
