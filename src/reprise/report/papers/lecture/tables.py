"""Document 003: n-gram models by order and by size of the text, language models of all kinds, and the recall task."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from reprise.data.synthetic.phrases import CHANGES, FIXED, PHRASES, SENTENCE_2, metric_of
from reprise.errors import require_known
from reprise.evidence.numbers import TRANSLATIONS
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, all_values, text, with_variants
from reprise.report.parts import verdicts, words
from reprise.report.parts.context import Context
from reprise.report.parts.rounding import NONE, fixed, integer, mean, significant
from reprise.report.parts.spreads import INTERVAL, noted
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.words import counted, replicas_or_absence
from reprise.units import perplexity

_COUNTED = Column("Replicas", replicas_or_absence)
_BEST_EPOCH = cells.number("Best epoch", "best_epoch", 1)
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
    """Make a row a model and quantity, a column an order: test perplexity, infinite where a word has no probability."""
    names = context.cited_by(table_id)
    orders = range(1, max(context.setting(name, "model.order") for name in names) + 1)
    rows = []
    for name, title in with_variants(context, names):
        by_metric = {metric: context.points(name, metric, "test") for metric in _QUANTITIES}
        entropy = "score_cross_entropy" if len(by_metric["score_sum"]) else "cross_entropy"
        if all(points.empty for points in by_metric.values()):
            rows.append({"experiment": name, "title": title, "quantity": context.status(name).absence})
        for metric, (quantity, shown) in _QUANTITIES.items():
            values = {int(n): shown(mean(v.dropna().to_numpy())) for n, v in by_metric[metric].iterrows()}
            if metric == entropy and len(by_metric["zero_share"]):
                values = {n: values.get(n, math.inf) for n in range(1, context.setting(name, "model.order") + 1)}
            if values and not (metric.endswith("_share") and not any(values.values())):
                row = {"experiment": name, "title": title, "quantity": quantity}
                rows.append(row | {f"order_{n}": value for n, value in values.items()})
    columns = [cells.MODEL, text("Quantity", "quantity"), *(Column(f"n = {n}", _order(n)) for n in orders)]
    keys = ["experiment", "title", "quantity", *(f"order_{n}" for n in orders)]
    table = Table(columns, pd.DataFrame(rows, columns=keys), words.corpora(context, names))
    return verdicts.add_claims(context, table, lambda row: _ABOUT.get(row["quantity"], ("*",)))


def _order(n: int) -> Any:
    perplexities = [_QUANTITIES[metric][0] for metric in ("cross_entropy", "score_cross_entropy")]

    def show(row: Row) -> str:
        value = row[f"order_{n}"]
        if math.isinf(value):
            return "∞"
        return fixed(value, 1 if row["quantity"] in perplexities else 4)

    return show


def storage(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row an order, a column a size of the training text: different n-grams."""
    (name,) = context.cited_by(table_id)
    rows = []
    for n in range(1, context.setting(name, "model.order") + 1):
        points = context.points(name, f"stored_order_{n}", "train")
        counts = {f"words_{int(words)}": float(v.iloc[0]) for words, v in points.iterrows()}
        rows.append({"experiment": name, "order": n} | counts)
    frame = pd.DataFrame(rows)
    sizes = [column for column in frame if column.startswith("words_")]
    columns = [cells.count("n", "order"), *(cells.count(f"{int(size[6:]):,} words", size) for size in sizes)]
    notes = words.corpora(context, [name])
    notes += [] if sizes else [f"{context.status(name).absence.capitalize()}."]
    return verdicts.add_claims(
        context, Table(columns, frame, notes), lambda row: (f"stored_order_{row['order']}* train",)
    )


def language_models(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a model: test perplexity of the notes' own, then of those cited from other papers.

    Option `cited`: "<paper>/<experiment>", one after the other; they are as the same tier has them. Notes say of which
    models the tier changes settings, since not all of them have the same left.
    """
    own = context.cited_by(table_id)
    models, notes = [(context, name) for name in own], words.corpora(context, own)
    for entry in options["cited"].split():
        paper, _, name = entry.partition("/")
        if paper not in context.papers:
            notes.append(f"{entry}: the paper {paper} is not among the configured ones.")
            continue
        other = context.papers[paper]
        where = context.option_key(table_id, "cited")
        require_known(name, other.paper.experiments, where, f"experiment of {paper}")
        models.append((other, name))
        notes += words.corpora(other, [name])
    changes = words.by_reduction(models).items()
    notes += [f"Reduced run of {'; '.join(titles)}: {changed}." for changed, titles in changes if changed]
    stored = [context.title(name) for name in own if context.entry(name).training.protocol == "word-ngram"]
    if stored:
        notes.append(f"Parameters of {'; '.join(stored)}: the n-grams that they store.")
    rows = [_language_model(owner, name, here=owner is context) for owner, name in models]
    frame = pd.DataFrame(rows).astype({"parameters": "Int64"})
    columns = [
        cells.MODEL,
        Column("From", lambda row: row["source"] or "here", words=True),
        cells.PARAMETERS,
        cells.ours(f"Test perplexity ({INTERVAL})", "mean", 2, least=1.0),
        cells.interval(f"Validation ({INTERVAL})", "valid_mean", 2, least=1.0),
        cells.REPLICAS,
    ]
    table = Table(columns, frame, [*notes, *noted(context, own, frame)])
    return verdicts.add_claims(context, table, lambda row: ("perplexity *", "cross_entropy *"))


def _language_model(context: Context, name: str, here: bool) -> dict[str, Any]:
    status = context.status(name)
    return {
        "source": "" if here else f"document {context.paper.document}",
        "experiment": f"{context.paper_id}/{name}",
        "title": context.title(name),
        "parameters": cells.parameters(context, name),
        **all_values(context, name, {"mean": ("perplexity", "test"), "valid_mean": ("perplexity", "valid")}),
        **counted(status),
        "absence": "diverged" if status.run else status.absence,
    }


def recall(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a network: names recalled over the distances of both sentences and the longest, and Jacobian norms."""
    names = context.cited_by(table_id)
    longest = {name: FIXED + context.setting(name, "data.filler") for name in names}
    rows, about = [], {}
    for name in names:
        quantities = {
            "sentence_1": (f"accuracy_at_{FIXED}", "test"),
            "sentence_2": (f"accuracy_at_{FIXED + SENTENCE_2}", "test"),
            "far": (f"accuracy_at_{longest[name]}", "test"),
            "start": (f"log10_jacobian_at_{longest[name]}", "start"),
            "end": (f"log10_jacobian_at_{longest[name]}", "end"),
        }
        about[name] = [" ".join(quantity) for quantity in quantities.values()]
        row = {"experiment": name, "title": context.title(name), "longest": longest[name]}
        rows.append(row | all_values(context, name, quantities) | counted(context.status(name)))
    far = " or ".join(str(distance) for distance in sorted(set(longest.values())))
    columns = [
        text("Network", "title"),
        cells.interval(f"Recalled ± {INTERVAL}: sentence 1, {FIXED} words", "sentence_1", 3, share=True),
        cells.interval(f"Sentence 2, {FIXED + SENTENCE_2} words", "sentence_2", 3, share=True),
        cells.interval(f"{far} words", "far", 3, share=True),
        Column(f"Norm over {far} words: before training", _norm("start")),
        Column("after", _norm("end")),
        _COUNTED,
    ]
    chance = {1 / context.setting(name, "data.names") for name in names}
    notes = [f"By guessing {', '.join(fixed(share, 2) for share in chance)}. Norms: geometric mean over replicas."]
    frame = pd.DataFrame(rows)
    notes += [*words.reductions(context, names), *noted(context, names, frame, shares=True)]
    return verdicts.add_claims(context, Table(columns, frame, notes), lambda row: about[row["experiment"]])


def _norm(key: str) -> Any:
    return lambda row: NONE if pd.isna(row[key]) else significant(10.0 ** row[key], 2)


_MOVED = {"shuffled": "share above a random order", "swapped": "share above two neighbours exchanged"}
_PARTS = {"": "All words", "_ambiguous": "Words with several tags", "_unseen": "Words unseen in training"}


def taggers(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a network, and last the words' most frequent tags: test accuracy of all words and of two groups."""
    names = context.cited_by(table_id)
    rows = _rows(context, names, _PARTS)
    if guessed := _guessed(context, names, _PARTS):
        row = {"experiment": "guessing", "title": "The word's most frequent tag", "n": 0, "wanted": 0, "diverged": 0}
        row |= {f"accuracy{group}": share for group, share in zip(_PARTS, guessed, strict=True)}
        rows.append(row | {"absence": NONE})
    return _labelled(context, names, [text("Network", "title"), cells.PARAMETERS], _PARTS, "Nats a tag", rows)


def pooling(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a way to make one vector of all states: test accuracy of the sentences' labels, by their length."""
    names, groups = context.cited_by(table_id), {"": "Accuracy", "_short": "Short sentences", "_long": "Long"}
    shares = [fixed(share, 4) for share in _guessed(context, names, groups)]
    sentence = "By guessing the more frequent label {}; of short sentences {}, of long ones {}."
    notes = [sentence.format(*shares)] if shares else []
    first, rows = [text("Representation", "title")], _rows(context, names, groups)
    return _labelled(context, names, first, groups, "Nats a sentence", rows, notes)


def _guessed(context: Context, names: list[str], groups: Iterable[str]) -> list[float | None]:
    """Return the shares that guessing gets right, as the first finished network counted them; none without one."""
    finished = [name for name in names if context.status(name).finished]
    return [mean(context.values(finished[0], f"guessing{group}", "test")) for group in groups if finished]


def _rows(context: Context, names: list[str], groups: Iterable[str]) -> list[dict[str, Any]]:
    quantities = {metric: (metric, "test") for metric in (*(f"accuracy{group}" for group in groups), "log_loss")}
    return [
        {
            "experiment": name,
            "title": title,
            "parameters": mean(context.values(name, "parameters_without_vectors", "train")),
            **all_values(context, name, quantities),
            "best_epoch": mean(context.values(name, "best_epoch", "valid")),
            **counted(context.status(name)),
        }
        for name, title in with_variants(context, names)
    ]


def _labelled(
    context: Context,
    names: list[str],
    first: list[Column],
    groups: Mapping[str, str],
    loss: str,
    rows: list[dict[str, Any]],
    notes: Iterable[str] = (),
) -> Table:
    """Return the table of networks that give words or sentences their labels."""
    shares = [cells.interval(head, f"accuracy{group}", 4, share=True) for group, head in groups.items()]
    columns = [*first, *shares, cells.interval(loss, "log_loss", 3), _BEST_EPOCH, _COUNTED]
    frame = pd.DataFrame(rows)
    notes = [*notes, *words.corpora(context, names), *words.reductions(context, names)]
    notes += noted(context, names, frame, shares=True)
    return verdicts.add_claims(context, Table(columns, frame, notes), lambda row: ("accuracy* test", "guessing* test"))


def word_order(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Rows a model: the phrases' log-probabilities and the shares of test sentences; a column an order."""
    names = context.cited_by(table_id)
    orders = range(1, max(context.setting(name, "model.order") for name in names) + 1)
    rows = []
    for name in names:
        common = {"experiment": name, "title": context.title(name)}
        if not context.status(name).finished:
            rows.append({**common, "quantity": context.status(name).absence, "kind": "", "about": "*"})
            continue
        for phrase in PHRASES:
            about = f"{metric_of(phrase)}_order_* phrases"
            row = {**common, "quantity": f"“{phrase}”", "kind": "phrase", "about": about}
            rows.append(row | _over(context, name, "order", metric_of(phrase), "phrases", orders))
        for change in CHANGES:
            row = {**common, "quantity": _MOVED[change], "kind": "share", "about": f"above_{change}_order_* test"}
            row |= _over(context, name, "order", f"above_{change}", "test", orders)
            rows.append(row | _over(context, name, "tied", f"tied_with_{change}", "test", orders))
    columns = [cells.MODEL, text("Quantity", "quantity"), *(Column(f"n = {n}", _score(n)) for n in orders)]
    numbers = (f"{kind}_{n}" for kind in ("order", "tied") for n in orders)
    keys = ["experiment", "title", "quantity", "kind", "about", *numbers]
    notes = ["No number stands where the phrase has probability 0.", *words.corpora(context, names)]
    table = Table(columns, pd.DataFrame(rows, columns=keys), notes)
    return verdicts.add_claims(context, table, lambda row: (row["about"],))


def _over(context: Context, name: str, key: str, metric: str, split: str, orders: range) -> dict[str, Any]:
    return {f"{key}_{n}": mean(context.values(name, f"{metric}_order_{n}", split)) for n in orders}


def _score(n: int) -> Callable[[Mapping[str, Any]], str]:
    def show(row: Row) -> str:
        value, tied = row[f"order_{n}"], row[f"tied_{n}"]
        if row["kind"] != "share":
            return fixed(value, 2)
        return fixed(value, 3) + (f" ({fixed(tied, 3)})" if tied >= 0.0005 else "")

    return show


_TRANSLATION_QUANTITIES = {
    "perplexity": ("perplexity", "test"),
    "bleu": ("bleu", "test"),
    "valid_perplexity": ("perplexity", "valid"),
    "best_epoch": ("best_epoch", "valid"),
}


def translations(context: Context, name: str) -> list[dict[str, Any]]:
    """Return the samples with all test translations of an experiment, a finished replica each."""
    return [sample for sample in context.samples(name, None) if sample["kind"] == TRANSLATIONS]


def translation_ladder(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a model: test perplexity and BLEU, validation perplexity and the epoch that they are of."""
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_translation_row(context, name) for name in names]).astype({"parameters": "Int64"})
    units = (replica.units.items() for name in names for replica in context.replicas(name, "finished"))
    signatures = dict.fromkeys(unit for of_replica in units for (metric, _), unit in of_replica if metric == "bleu")
    notes = [f"BLEU by sacrebleu, {signature.removeprefix('BLEU|')}." for signature in signatures]
    alike = "One and the same translation of all sentences, so that nothing of a source is in it"
    notes += words.of_which(alike, context, dict(zip(names, rows.alike, strict=True)))
    notes += words.of_which(words.AT_THE_END, context, words.best_at_the_end(context, names))
    notes += words.corpora(context, names) + words.reductions(context, names)
    notes += noted(context, names, rows)
    columns = [
        cells.MODEL,
        cells.PARAMETERS,
        cells.interval(f"Test perplexity ({INTERVAL})", "perplexity", 2, least=1.0),
        cells.interval(f"BLEU ± {INTERVAL}", "bleu", 2),
        Column("Different translations", lambda row: _of(row["different"], row["translated"])),
        cells.interval(f"Validation perplexity ({INTERVAL})", "valid_perplexity", 2, least=1.0),
        Column("Epoch", lambda row: fixed(row["best_epoch"], 0 if row["n"] == 1 else 1)),
        _COUNTED,
    ]
    return verdicts.add_claims(context, Table(columns, rows, notes), lambda row: ("perplexity *", "bleu *"))


def _translation_row(context: Context, name: str) -> dict[str, Any]:
    texts = [sample["texts"] for sample in translations(context, name)]
    return {
        "experiment": name,
        "title": context.title(name),
        "parameters": cells.parameters(context, name),
        "different": mean([len(set(written)) for written in texts]),
        "translated": len(texts[0]) if texts else None,
        "alike": sum(len(written) > 1 and len(set(written)) == 1 for written in texts),
        **counted(context.status(name)),
        **all_values(context, name, _TRANSLATION_QUANTITIES),
    }


def _of(part: float, whole: float) -> str:
    return NONE if pd.isna(part) else f"{integer(part)} of {integer(whole)}"


def translation_examples(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Rows of each sentence: its source and reference, and what the first replica of each model makes of it."""
    names = context.cited_by(table_id)
    # Models of one tier may read different texts: a text is told by its line and its source.
    shown = {
        name: {(s["line"], s["source"], s["reference"]): s for s in context.samples(name) if s["kind"] == "example"}
        for name in names
    }
    rows: list[tuple[int, str, str]] = []
    for place in sorted({place for examples in shown.values() for place in examples}):
        line, source, reference = place
        rows += [(line, "source", source), (line, "reference", reference)]
        rows += [(line, context.title(name), shown[name][place]["text"]) for name in names if place in shown[name]]
    columns = [
        Column("Line", lambda row: integer(row["line"]) if row["whose"] == "source" else ""),
        text("Whose", "whose"),
        text("Text", "text"),
    ]
    absent = [f"{context.title(name)}: {context.status(name).absence}." for name in names if not shown[name]]
    used = dict.fromkeys(context.replaced_dataset(n) or context.entry(n).data.dataset for n in names if shown[n])
    cited = [f"Sources and references: {(d := context.datasets[name]).title} ({d.licence})." for name in used]
    return Table(columns, pd.DataFrame(rows, columns=["line", "whose", "text"]), [*cited, *absent])
