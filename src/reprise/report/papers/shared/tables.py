"""Claims: what a paper says, and what the run records say to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from reprise.catalogue.displays import display
from reprise.config.claims import Claim
from reprise.errors import UserError, known
from reprise.evidence.arithmetic import AGREES, DIFFERS, NOT_EQUAL, work_out
from reprise.evidence.contrasts import terms_of
from reprise.evidence.verdicts import EVIDENCE, JUDGED
from reprise.evidence.words import name_of, plain, size_words
from reprise.report.parts import rounding, spreads, verdicts, words
from reprise.report.parts.context import Context, of_experiment
from reprise.report.parts.rounding import NONE, even, fixed, integer, mean, plural, significant, spread
from reprise.report.parts.spreads import INTERVAL, measured, noted, passes
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.verdicts import Outcome, consequences, outcomes
from reprise.report.parts.words import cut, replicas, sentence, settings
from reprise.units import perplexity as to_perplexity


@display(of_experiments=False)
def claims(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a comparison, from claims.json: the paper's effect and ours, and of its claim direction and size.

    Below, folded, stand each claim's words in the paper, what was found, its method, readings and criterion.
    Errors: `UserError` where claims.json is missing or does not know a claim.
    """
    rows, folded, missing = [], [], {}
    for key, claim in context.paper.claims.items():
        if key not in context.claims:
            raise UserError(
                f"results/{context.tier}/claims.json: no claim {context.paper_id}/{key}; "
                f"run `python -m reprise verify --tier {context.tier}`"
            )
        found = context.claims[key]
        folded.append((f"{key}: {found['answer']}", _in_full(context, key, claim, found)))
        if found["verdict"] not in JUDGED:
            missing.setdefault(found["verdict"], []).append(key)
            continue
        mark = "*" if found["afterwards"] else ""
        common = {"claim": key, "evidence": found["evidence"], "direction": f"{found['answer']}{mark}"}
        parts = [verdicts.compared(part) | {"size": size_words(found, part)} for part in found["parts"]] or [{}]
        for number, part in enumerate(parts):
            rows.append(common | {"text": found["short"], "number": number, "of": len(parts)} | part)
    frame = pd.DataFrame(rows, columns=_KEYS)
    notes = []
    for kind in EVIDENCE:
        answers = [found["answer"] for found in context.claims.values() if found["evidence"] == kind]
        if answers:
            said = ", ".join(f"{n} {answer}" for answer, n in Counter(answers).most_common())
            notes.append(f"{kind.capitalize()}, {plural(len(answers), 'claim')}: {said}.")
    notes += [f"{verdict.capitalize()}: {', '.join(keys)}." for verdict, keys in missing.items()]
    if any(found["afterwards"] for found in context.claims.values()):
        notes.append("*: the bound, margin or test was set when its numbers were known.")
    if rows:
        notes.append("Ours and the paper's are differences, above 0 on the claim's side; [95 % interval].")
        notes.append("Differences of perplexities are in per cent of what the claim calls the higher.")
    if found := verdicts.reading_table(context):
        folded.append((f"Readings: {found[0]}", [verdicts.markdown_lines(found[1])]))
    return Table(_COLUMNS, frame, notes, folded=folded)


def _in_full(context: Context, key: str, claim: Claim, found: Mapping[str, Any]) -> list[str]:
    """What stands folded under the table: a paragraph each."""
    against, readings = found["contradicted_by"], (found["readings"] or {}).get("line", "")
    said = [
        f"“{claim.text.strip()}” ({claim.place})",
        f"{found['sentence']}{verdicts.in_full_sentence(context, key)}",
        f"The paper contradicts itself: {sentence(against)}" if against else "",
        *(verdicts.under(name, other) for name, other in found["co_primary"].items()),
        f"Readings: {readings}." if readings else "",
        f"Method: {sentence(found['method'])}" if found["method"] else "",
        f"Criterion: {sentence(claim.criterion)}" if claim.criterion else "",
        f"Set when its numbers were known: {sentence(found['afterwards'])}" if found["afterwards"] else "",
    ]
    return [text for text in said if text]


_WIDTH = 60
"""Characters of a claim's cell: GitHub shows no wider ones whole."""
_KEYS = ["claim", "text", "evidence", "number", "of", "what", "paper", "ours", "n", "direction", "size"]


def _what(row: Mapping[str, Any]) -> str:
    """The claim before its first comparison, and what is compared where there are several."""
    if row["number"] == 0:
        return f"{row['claim']} {cut(row['text'], _WIDTH)}"
    return f"· {cut(row['what'], _WIDTH)}"


_COLUMNS = [
    Column("Claim", _what, words=True),
    Column("Paper", lambda row: NONE if pd.isna(row["paper"]) else row["paper"]),
    Column("Ours [95 % CI]", lambda row: NONE if pd.isna(row["ours"]) else row["ours"]),
    Column("n", lambda row: "" if pd.isna(row["n"]) else row["n"]),
    Column("Direction", lambda row: row["direction"] if row["number"] == 0 else "", words=True),
    Column("Size", lambda row: "" if pd.isna(row["size"]) else row["size"], words=True),
]


_UNITS = {"relative": "", "1": "", "share": ""}


@display(checks=True)
def checks(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a comparison: its largest error, the tolerance, whether it holds, and the claims that name it."""
    rows, notes = [], []
    for name in context.cited_by(table_id):
        experiment = context.paper.experiments[name]
        common = {
            "check": name,
            "title": experiment.title,
            "tolerance": experiment.check.tolerance,
            "claims": ", ".join(
                key for key, claim in context.paper.claims.items() if name in (*claim.checks, *claim.corrections)
            ),
        }
        found = of_experiment(context.metrics, name)
        found = found[found.metric == "max_error"].sort_values(["replica", "split"], kind="stable")
        for row in found.itertuples():
            held = bool(row.value <= experiment.check.tolerance)
            rows.append(
                {
                    **common,
                    "comparison": row.split,
                    "error": row.value,
                    "unit": row.unit,
                    "n": row.n,
                    "held": held,
                }
            )
        if not len(found):
            empty = dict.fromkeys(("error", "unit", "n", "held"))
            rows.append({**common, "comparison": context.status(name).absence, **empty})
        if experiment.note:
            notes.append(f"{experiment.title}: {experiment.note.strip()}")
    keys = ["check", "title", "comparison", "error", "unit", "n", "tolerance", "held", "claims"]
    return Table(_CHECKS_COLUMNS, pd.DataFrame(rows, columns=keys).astype({"held": "boolean"}), notes)


def _error(row: Mapping[str, Any]) -> str:
    if pd.isna(row["error"]):
        return NONE
    unit = _UNITS.get(row["unit"], row["unit"])
    return f"{significant(row['error'], 2)} {unit}".strip()


def _held(row: Mapping[str, Any]) -> str:
    return NONE if pd.isna(row["held"]) else "yes" if row["held"] else "no"


_CHECKS_COLUMNS = [
    Column("Check", lambda row: row["title"], words=True),
    Column("Comparison", lambda row: row["comparison"], words=True),
    Column("Largest error", _error),
    Column("Tolerance", lambda row: significant(row["tolerance"], 2)),
    Column("Held", _held, words=True),
    Column("Claims", lambda row: row["claims"] or NONE, words=True),
]


@display(of_experiments=False)
def printed(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a printed number: its formula, its value, and whether the two agree. Those that do not come first."""
    rows = []
    for key, entry in context.paper.arithmetic.items():
        worked = work_out(entry)
        rows.append(
            {
                "id": key,
                "text": entry.text,
                "place": entry.place,
                "printed": entry.printed,
                "formula": entry.formula,
                "equals": entry.equals,
                "values": ", ".join(f"{name} = {_number(value)}" for name, value in entry.values.items()),
                "value": worked.value,
                "other": worked.other,
                "agreement": worked.agreement,
                "off": worked.off,
                "note": entry.note,
            }
        )
    rows.sort(key=lambda row: row["agreement"] == AGREES)
    counts = Counter(row["agreement"] for row in rows)
    notes = (
        [f"Of {plural(len(rows), 'number')}: {'; '.join(f'{words} {n}' for words, n in counts.most_common())}."]
        if rows
        else []
    )
    notes += [f"{row['text'].removesuffix('.')}: {row['note'].strip()}" for row in rows if row["note"]]
    return Table(_ARITHMETIC_COLUMNS, pd.DataFrame(rows, columns=_ARITHMETIC_KEYS), notes)


@display(of_experiments=False)
def errata(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row a place of the paper that cannot be meant as it stands: what it says, and what is right."""
    rows = [dict(entry) for entry in context.paper.errata]
    return Table(_ERRATA, pd.DataFrame(rows, columns=["place", "says", "right", "source"]))


def _number(value: float) -> str:
    return integer(value) if float(value).is_integer() else significant(value, 5)


def _computed(row: Mapping[str, Any]) -> str:
    """The value; in per cent where the paper prints it so."""
    if not pd.isna(row["other"]):
        return " and ".join(_number(value) for value in (row["value"], row["other"]))
    if pd.notna(row["printed"]) and row["printed"].endswith("%"):
        return f"{_number(round(100 * row['value'], 9))} %"
    return _number(row["value"])


def _agreement(row: Mapping[str, Any]) -> str:
    if row["agreement"] not in {DIFFERS, NOT_EQUAL}:
        return row["agreement"]
    than = "what is printed" if pd.isna(row["other"]) else "the second"
    more = "more" if row["off"] > 0 else "less"
    return f"{row['agreement']} ({fixed(100 * abs(row['off']), 2)}\u00a0% {more} than {than})"


def _formula(row: Mapping[str, Any]) -> str:
    both = row["formula"] if pd.isna(row["equals"]) else f"{row['formula']} and {row['equals']}"
    return f"{both}; {row['values']}" if row["values"] else both


_ARITHMETIC_KEYS = [
    "id",
    "text",
    "place",
    "printed",
    "formula",
    "equals",
    "values",
    "value",
    "other",
    "agreement",
    "off",
    "note",
]
_ARITHMETIC_COLUMNS = [
    Column("Number", lambda row: row["text"], words=True),
    Column("Place", lambda row: row["place"], words=True),
    Column("Printed", lambda row: "the same" if pd.isna(row["printed"]) else row["printed"]),
    Column("Formula", _formula, words=True),
    Column("Value", _computed),
    Column("Agreement", _agreement, words=True),
]
_ERRATA = [
    Column("Place", lambda row: row["place"], words=True),
    Column("The paper says", lambda row: row["says"], words=True),
    Column("What is right, or meant", lambda row: row["right"], words=True),
    Column("Known from", lambda row: row["source"], words=True),
]


_SAME = "the same records"


@display(options={"numbers": ""}, of_experiments=False)
def assumptions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an assumption, alternative and experiment that it was run on: our number, that under the alternative, and
    the claims' verdicts under both, whether they change or not.

    Option `numbers`: "<metric> <split>", separated by commas; of an experiment the first that it has.
    """
    stated = options["numbers"]
    numbers = [tuple(pair.split()) for pair in stated.split(",")]
    if any(len(pair) != 2 for pair in numbers):
        where = context.option_key(table_id, "numbers")
        raise UserError(f"{where}: '{stated}' is no list of a metric and its split; write 'perplexity test'")
    _refuse_unknown(context, table_id, numbers)
    found = {(o.assumption, o.alternative): o for o in outcomes(context)}
    rows = [row for key in context.paper.assumptions for row in _rows(context, key, found, numbers)]
    frame = pd.DataFrame(rows, columns=_ASSUMPTIONS_KEYS).astype({"n": "Int64", "chosen_n": "Int64"})
    several = frame.loc[frame.metric.notna(), ["metric", "split"]].drop_duplicates()
    columns = [c for c in _ASSUMPTIONS_COLUMNS if (c is not _MEASURED or len(several) > 1)]
    notes = [consequences(context)] if found else []
    if frame.difference_in_deviations.notna().any():
        runs = context.replicas.runs
        one = "fold" if any(runs[name].by_fold for name in frame.experiment.dropna() if name in runs) else "replica"
        notes.append(f"Differences in brackets are in deviations of one {one}.")
    least = frame.metric.map(rounding.least_of).astype(float)
    cut = passes(frame, ("chosen_mean", "chosen_reach"), ("mean", "reach"), least=least)
    notes += noted(context, frame.experiment.dropna(), frame, shares=(frame.unit == "share").any(), least=cut)
    entries = [entry for outcome in found.values() for entry in outcome.claims.values()]
    judged = filter(verdicts.was_judged, entries)
    if any(verdicts.is_looked_at(entry) and verdicts.part_of(entry) for entry in judged):
        notes.append(
            "Where only a part of a claim's comparisons could be looked at (2 of 4), a claim turns where these do."
        )
    if not all(map(verdicts.is_looked_at, entries)):
        notes.append(
            "Not looked at: the claim rests on the assumption, but what it compares was not to be trained under the "
            "alternative."
        )
    notes += [f"Deviation {key}: {entry.title}." for key, entry in context.paper.deviations.items()]
    return Table(columns, frame, notes)


def _refuse_unknown(context: Context, table_id: str, numbers: list[tuple[str, str]]) -> None:
    """A number that no record has is a mistake, unless its records may still come.

    It is taken for one where an experiment was run that has none of the numbers, or where all were run. What a claim or
    a number of the paper is about is left to `verify`.
    """
    rows = context.metrics[context.metrics.status == "finished"]
    there = set(zip(rows.metric, rows.split, strict=True))
    told = {term.quantity for claim in context.paper.claims.values() for term in terms_of(claim)}
    told |= {(r.metric, r.split) for entry in context.paper.experiments.values() for r in entry.reported}
    unknown = [pair for pair in numbers if pair not in there | told]
    if not unknown:
        return
    shown = {
        run
        for key, entry in context.paper.assumptions.items()
        for alternative, choice in entry.alternatives.items()
        for name in choice.experiments
        for run in (name, f"{name}@{key}={alternative}")
    }
    done = {run for run in shown if context.status(run).finished}
    if done == shown != set() or any(not any(len(context.values(run, *q)) for q in numbers) for run in done):
        asked = " ".join(unknown[0])
        raise UserError(
            f"{context.option_key(table_id, 'numbers')}: no record has '{asked}'; "
            f"{known(asked, (' '.join(pair) for pair in there))}"
        )


def _rows(
    context: Context, key: str, found: Mapping[tuple[str, str], Outcome], numbers: list[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    entry = context.paper.assumptions[key]
    common = {name: getattr(entry, name) for name in ("title", "choice", "source", "unrun")} | {"assumption": key}
    if not entry.alternatives:
        yield common | {"first": True}
    first = True
    for alternative, choice in entry.alternatives.items():
        outcome = found[key, alternative]
        under = common | {"alternative": alternative, "state": outcome.state}
        claims: str | None = verdicts.turns(outcome.claims.items()) or None
        before = ""
        if choice.metrics:
            said = "; ".join(f"{plain(other)} in place of {plain(metric)}" for metric, other in choice.metrics.items())
            shown = {"settings": said, "claims": claims, "first": first}
            yield under | {"absence": _SAME} | shown
            first = False
        for name in choice.experiments:
            row = under | _compared(context, name, outcome.suffix, numbers)
            shown = {"settings": settings(choice.changes(name)), "claims": claims, "first": first}
            yield row | shown | {"again": shown["settings"] == before}
            first, claims, before = False, "", shown["settings"]


def _compared(context: Context, name: str, suffix: str, numbers: list[tuple[str, str]]) -> dict[str, Any]:
    variant = f"{name}@{suffix}"
    there = (q for q in numbers if len(context.values(name, *q)) or len(context.values(variant, *q)))
    found = next(there, None)
    metric, split = found or numbers[0]
    chosen, ours = (measured(context, experiment, metric, split) for experiment in (name, variant))
    difference = _above(context, variant, name, metric, split)
    std, status = chosen.deviation, context.status(variant)
    return {
        "experiment": name,
        "experiment_title": context.entry(name).title,
        # Which of the numbers it will have is not known before there is one.
        "metric": metric if found or len(numbers) == 1 else None,
        "split": split if found or len(numbers) == 1 else None,
        "unit": context.unit(*found) if found else None,
        "chosen_mean": chosen.mean,
        "chosen_std": chosen.own,
        "chosen_reach": chosen.reach,
        "chosen_n": chosen.n,
        "mean": ours.mean,
        "std": ours.own,
        "reach": ours.reach,
        "n": ours.n,
        "diverged": status.diverged,
        "run": status.run,
        "absence": status.absence,
        "difference": difference,
        "difference_in_deviations": difference / std if difference is not None and std else None,
    }


def _above(context: Context, variant: str, name: str, metric: str, split: str) -> float | None:
    """By how much the mean under the alternative is above that as chosen; of folds, on those that both have."""
    ours, chosen = (context.by_fold(run, metric, split) for run in (variant, name))
    if (of_experiment(context.metrics, name).fold != "").any():
        return mean((ours - chosen).dropna())
    return mean(ours) - mean(chosen) if len(ours) and len(chosen) else None


def _assumptions_number(value: float | None, digits: int = 5) -> str:
    """A count in full, anything else to so many significant digits."""
    if pd.isna(value):
        return NONE
    return integer(value) if float(value).is_integer() and abs(value) >= 10 else significant(value, digits)


def _spread(row: Mapping[str, Any], key: str) -> str:
    return even(
        row[f"{key}mean"], row[f"{key}reach"], share=row["unit"] == "share", least=rounding.least_of(row["metric"])
    )


def _instead(row: Mapping[str, Any]) -> str:
    if pd.isna(row["absence"]):
        return NONE
    if pd.isna(row["run"]) or not row["run"]:
        return row["absence"]
    if pd.isna(row["mean"]):
        return "diverged" if row["run"] == row["diverged"] else "no such number"
    return _spread(row, "")


def _difference(row: Mapping[str, Any]) -> str:
    if pd.isna(row["difference"]):
        return NONE
    text = f"{'+' if row['difference'] > 0 else ''}{_assumptions_number(row['difference'], 3)}"
    in_deviations = row["difference_in_deviations"]
    return text if pd.isna(in_deviations) else f"{text} ({fixed(in_deviations, 1)})"


def _choice(row: Mapping[str, Any]) -> str:
    return f"{row['choice']} (source: {row['source']})" if row["first"] else ""


def _alternative(row: Mapping[str, Any]) -> str:
    if pd.isna(row["alternative"]):
        return "none is run" if pd.isna(row["unrun"]) else f"none is run: {row['unrun']}"
    return "" if row["again"] is True else f"{row['alternative']}: {row['settings']}"


def _or_dash(value: Any) -> str:
    return NONE if pd.isna(value) else value


_ASSUMPTIONS_KEYS = [
    *("assumption", "title", "choice", "source", "unrun", "alternative", "settings", "state"),
    *("experiment", "experiment_title", "metric", "split", "unit"),
    *("chosen_mean", "chosen_std", "chosen_reach", "chosen_n"),
    *("mean", "std", "reach", "n"),
    *("diverged", "run", "absence", "difference", "difference_in_deviations", "claims", "first", "again"),
]
_MEASURED = Column(
    "Measured",
    lambda row: NONE if pd.isna(row["metric"]) else name_of(row["metric"], row["split"]),
    words=True,
)
_ASSUMPTIONS_COLUMNS = [
    Column("Assumption", lambda row: f"{row['title']} ({row['assumption']})" if row["first"] else "", words=True),
    Column("Our choice", _choice, words=True),
    Column("Alternative", _alternative, words=True),
    Column("Claims: as chosen → under it", lambda row: _or_dash(row["claims"]), words=True),
    Column("Run on", lambda row: _or_dash(row["experiment_title"]), words=True),
    _MEASURED,
    Column(f"As chosen ± {INTERVAL}", lambda row: _spread(row, "chosen_")),
    Column(f"Under the alternative ± {INTERVAL}", _instead),
    Column("Difference (in deviations)", _difference),
]


_SETBACK = 1.5
"""A validation perplexity of so many times an earlier one is no noise."""


@display()
def perplexity(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """A row an experiment: the paper's test perplexity, ours ± its interval, and the gap, absolute and in deviations.

    Both rest on the deviation of one replica that verdicts take (`parts.spreads`); a note gives those that are
    borrowed. An experiment that this tier trains on another corpus is not set beside the paper's number.
    """
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_model_row(context, name) for name in names]).astype({"parameters": "Int64"})
    needed = {_FLOOR: rows.floor.notna().any(), _CORPUS: rows.corpus.nunique() > 1}
    printed = {name for name in names if _printed(context, name)[1] is not None}
    columns = [column for column in _model_columns(printed) if needed.get(column, True)]
    notes = words.corpora(context, names)
    changed = words.reductions(context, [name for name in names if not context.replaced_dataset(name)])
    notes = [*changed, *notes, *_deviations(context, names, rows)]
    notes += [note for name in names for note in _setbacks(context, name)]
    return verdicts.beside(context, Table(columns, rows, notes), lambda row: ("perplexity *", "cross_entropy *"))


def _model_row(context: Context, name: str) -> dict[str, Any]:
    status, replaced = context.status(name), context.replaced_dataset(name)
    ours, valid = (spreads.measured(context, name, "perplexity", split) for split in ("test", "valid"))
    given, printed = _printed(context, name)
    # The number stands in the paper's column only where it is about the same text.
    paper = None if replaced else printed
    parameters = of_experiment(context.metrics, name).parameters.dropna()
    if not len(parameters):
        parameters = pd.Series([context.reported(name, "parameters", "model")[1]]).dropna()
    stated = context.paper.experiments[name].data.dataset
    entropy_rate = mean(context.values(name, "source_entropy", "test")) if replaced else None
    return {
        "experiment": name,
        "title": context.paper.experiments[name].title,
        "corpus": context.dataset_title(replaced or stated),
        "replaced": replaced is not None,
        "parameters": int(parameters.iloc[0]) if len(parameters) else None,
        "paper": paper,
        "paper_ran": not given or printed is not None,
        "mean": ours.mean,
        "std": ours.own,
        "reach": ours.reach,
        "n": ours.n,
        "gap": ours.gap(paper),
        "replica_std": ours.deviation,
        "freedom": ours.freedom,
        "lender": ours.lender,
        "gap_in_std": ours.gap_in_deviations(paper),
        "valid_mean": valid.mean,
        "valid_std": valid.own,
        "valid_reach": valid.reach,
        "floor": to_perplexity(entropy_rate) if entropy_rate is not None else None,
        "diverged": status.diverged,
        "run": status.run,
        "wanted": status.wanted,
        "absence": status.absence_of(ours.mean),
    }


def _printed(context: Context, name: str) -> tuple[bool, float | None]:
    """What the paper says of the model's perplexity, on whatever text; see `Context.reported`."""
    return context.reported(name, "perplexity", "test")


def _deviations(context: Context, names: list[str], rows: pd.DataFrame) -> list[str]:
    """What ± and the gaps are measured in, and the deviations that models borrow."""
    known = rows[rows.reach.notna()]
    if known.empty:
        return []
    lent = zip(known.title, known.replica_std, known.freedom, known.lender, strict=True)
    found = spreads.deviations(lent, means=known["mean"])
    cut = spreads.passes(known, ("mean", "reach"), ("valid_mean", "valid_reach"))
    return [spreads.meaning(context, names, gaps=rows.gap.notna().any(), least=cut), *found]


def _setbacks(context: Context, name: str) -> list[str]:
    """Of each replica whose validation perplexity rose far above an earlier one, where and how far."""
    found = []
    courses = context.points(name, "cross_entropy", "valid")
    for replica, losses in courses.items():
        course = losses.dropna().map(to_perplexity)
        after = course[course.index > course.idxmin()]
        risen = course[course > _SETBACK * course.cummin()]
        best, last = integer(course.idxmin()), integer(course.index[-1])
        if len(after) and after.max() > _SETBACK * course.min():
            worst = integer(after.idxmax())
            lowest, highest = fixed(after.min(), 0), fixed(after.max(), 0)
            later = f"the one after it had {highest}"
            if len(after) > 1:
                later = f"later ones had {lowest} to {highest} (epoch {worst})"
            found.append(
                f"epoch {best} of {last} was the best of replica {replica}, with a validation perplexity of "
                f"{fixed(course.min(), 0)}; {later}"
            )
        elif len(risen):
            found.append(
                f"replica {replica} rose to a validation perplexity of {fixed(risen.max(), 0)} in epoch "
                f"{integer(risen.idxmax())}; its best, {fixed(course.min(), 0)}, is that of epoch {best} of {last}"
            )
    return [f"{context.entry(name).title} diverged for a while: {'; '.join(found)}."] if found else []


def _model_ours(row: Mapping[str, Any]) -> str:
    if row["n"]:
        return spread(row["mean"], row["reach"], 2, least=1.0)
    return "diverged" if row["run"] and row["run"] == row["diverged"] else row["absence"]


def _model_paper(row: Mapping[str, Any], printed: Collection[str]) -> str:
    """`printed` are the models that the paper has a number of."""
    if not row["paper_ran"]:
        return "not run by the paper"
    return "other corpus" if row["replaced"] and row["experiment"] in printed else fixed(row["paper"], 1)


_CORPUS = Column("Corpus", lambda row: row["corpus"], words=True)
_FLOOR = Column("Least possible", lambda row: fixed(row["floor"], 2))


def _model_columns(printed: Collection[str]) -> list[Column]:
    return [
        Column("Model", lambda row: row["title"], words=True),
        _CORPUS,
        Column("Parameters", lambda row: integer(row["parameters"])),
        Column("Test perplexity: paper", lambda row: _model_paper(row, printed)),
        Column(f"Test perplexity: ours ± {spreads.INTERVAL}", _model_ours),
        Column("Replicas", lambda row: replicas(row["n"], row["wanted"], row["diverged"])),
        Column("Gap", lambda row: fixed(row["gap"], 2)),
        Column("Gap in deviations", lambda row: fixed(row["gap_in_std"], 1)),
        Column(
            f"Validation ± {spreads.INTERVAL}", lambda row: spread(row["valid_mean"], row["valid_reach"], 2, least=1.0)
        ),
        _FLOOR,
    ]
