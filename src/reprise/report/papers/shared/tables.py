"""Tables that any paper may have: its claims, checks, arithmetic, errata, assumptions, and perplexities of models."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from reprise.config.claims import Claim
from reprise.errors import UserError, known
from reprise.evidence import readings
from reprise.evidence.arithmetic import AGREES, DIFFERS, NOT_EQUAL, work_out
from reprise.evidence.contrasts import list_terms
from reprise.evidence.decisions import Decision
from reprise.evidence.losses import losses_by_count
from reprise.evidence.verdicts import JUDGED, NOT_RUN
from reprise.records.resolved import FULL
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, picked, text, values
from reprise.report.parts import rounding, verdicts, words
from reprise.report.parts.context import Context
from reprise.report.parts.names import band_words, name_of, plain
from reprise.report.parts.rounding import NONE, even, fixed, integer, mean, plural, significant
from reprise.report.parts.rows import ANSWER_WORDS, HEADS, MARKS, Cells, claim_cells, judged_cells, rows_of
from reprise.report.parts.spreads import INTERVAL, Measured, measured, noted
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.templates import note_lines
from reprise.report.parts.verdicts import Outcome, outcomes
from reprise.report.parts.words import sentence, settings
from reprise.units import perplexity as to_perplexity


def claims(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Write a row a claim and, where there are several, a row a comparison below it; folded, what decides each claim.

    Raises:
        UserError: claims.json is missing, or does not know a claim.
    """
    rows, folded, missing = [], [], {}
    for key, claim in context.paper.claims.items():
        if key not in context.claims:
            raise UserError(
                f"results/{context.tier}/claims.json: no claim {context.paper_id}/{key}; "
                f"run `python -m reprise verify --tier {context.tier}`"
            )
        decision = context.claims[key]
        row = claim_cells(key, claim.label, decision)
        folded.append((f"{key}: {row.answer}", _in_full(context, claim, decision)))
        if decision.answer not in JUDGED:
            missing.setdefault(row.answer, []).append(key)
            continue
        common = {"key": key, "evidence": decision.evidence}
        rows.append(common | {"number": 0} | asdict(row))
        for name, other in decision.co_primary.items():
            under = judged_cells(f"· {verdicts.setting_words(context.paper, name)}", other)
            rows.append(common | {"number": 0} | asdict(under))
        parts = rows_of(decision) if len(decision.comparisons) > 1 else []
        rows += [common | {"number": i} | asdict(part) | {"claim": "", "answer": ""} for i, part in enumerate(parts, 1)]
    notes = [f"{answer.capitalize()}: {', '.join(keys)}." for answer, keys in missing.items()]
    if context.tier == FULL and NOT_RUN in missing:
        notes.append(f"python -m reprise estimate {context.paper_id} lists what is not run and how long it takes.")
    notes += [f"{mark}: {meaning}" for mark, meaning in MARKS.items() if rows]
    if nearest := readings.distances(context.paper, context.runs)[1:]:
        table = [readings.HEAD, ["--"] * len(readings.HEAD), *readings.lines(nearest)]
        text_of = "\n".join(f"| {' | '.join(line)} |" for line in table)
        folded.append(("Settings by their distance from the paper's numbers", [text_of]))
    columns = [Column(HEADS[0], lambda row: row["claim"], words=True)]
    columns += [
        text(head, key) for head, key in zip(HEADS[1:], ("compared", "paper", "ours", "n", "answer"), strict=True)
    ]
    columns.append(text("Size", "size"))
    keys = ["key", "evidence", "number", *(field.name for field in fields(Cells))]
    return Table(columns, pd.DataFrame(rows, columns=keys), notes, folded=folded)


def _in_full(context: Context, claim: Claim, decision: Decision) -> list[str]:
    """Write what stands folded under the table: the paper's words, what we test, notes, and what decides the claim."""
    lines = [claim.source, f"Tested: {sentence(claim.tested)}", *note_lines(decision)]
    full = context.in_full.get(decision.claim)
    if full and full.answer in JUDGED and full.answer != decision.answer:
        lines.append(f"{words.PROTOCOLS[FULL]}: {ANSWER_WORDS[full.answer]}.")
    if decision.settings and decision.settings.of > 1:
        lines.append(f"Settings under which it holds: {decision.settings.holds} of {decision.settings.of}.")
    return [*lines, *(f"{name}: {sentence(value)}" for name, value in verdicts.rule(claim, decision))]


def checks(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a comparison: its largest error, the tolerance, whether it holds, and the claims that name it."""
    rows, notes = [], []
    for name in context.cited_by(table_id):
        experiment, tolerance = context.entry(name), context.entry(name).check.tolerance
        cited = [key for key, claim in context.paper.claims.items() if name in (*claim.checks, *claim.corrections)]
        common = {"check": name, "title": experiment.title, "tolerance": tolerance, "claims": ", ".join(cited)}
        errors = [
            (replica, quantity, error)
            for replica in context.replicas(name, "finished")
            for quantity, error in sorted(replica.metrics.items())
            if quantity[0] == "max_error"
        ]
        for replica, quantity, error in errors:
            counted = {"unit": replica.units[quantity], "n": replica.sizes[quantity]}
            compared = {"comparison": quantity[1], "error": error, **counted}
            rows.append(common | compared | {"held": error <= tolerance})
        if not errors:
            rows.append(common | {"comparison": context.status(name).absence})
        if experiment.note:
            notes.append(f"{experiment.title}: {experiment.note.strip()}")
    columns = [
        text("Check", "title"),
        text("Comparison", "comparison"),
        Column("Largest error", _error),
        Column("Tolerance", lambda row: significant(row["tolerance"], 2)),
        Column("Held", lambda row: cells.yes_or_no(row["held"]), words=True),
        Column("Claims", lambda row: row["claims"] or NONE, words=True),
    ]
    keys = ["check", "title", "comparison", "error", "unit", "n", "tolerance", "held", "claims"]
    return Table(columns, pd.DataFrame(rows, columns=keys).astype({"held": "boolean"}), notes)


def _error(row: Row) -> str:
    if pd.isna(row["error"]):
        return NONE
    unit = "" if row["unit"] in {"relative", "1", "share"} else row["unit"]
    return f"{significant(row['error'], 2)} {unit}".strip()


def printed(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a printed number: its formula, its value, and whether the two agree. Those that do not come first."""
    rows = []
    for key, entry in context.paper.arithmetic.items():
        stated = {"id": key, **picked(entry, "text", "place", "printed", "formula", "equals")}
        stated["values"] = ", ".join(f"{name} = {_number(value)}" for name, value in entry.values.items())
        rows.append(stated | picked(work_out(entry), "value", "other", "agreement", "off") | {"note": entry.note})
    rows.sort(key=lambda row: row["agreement"] == AGREES)
    counts = Counter(row["agreement"] for row in rows).most_common()
    notes = ["; ".join(f"{n} of {plural(len(rows), 'number')}: {answer}" for answer, n in counts) + "."]
    notes += [f"{row['text'].removesuffix('.')}: {row['note'].strip()}" for row in rows if row["note"]]
    columns = [
        text("Number", "text"),
        text("Place", "place"),
        Column("Printed", lambda row: "the same" if pd.isna(row["printed"]) else row["printed"]),
        Column("Formula", _formula, words=True),
        Column("Value", _computed),
        Column("Agreement", _agreement, words=True),
    ]
    return Table(columns, pd.DataFrame(rows), notes)


def errata(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a place of the paper that cannot be meant as it stands: what it says, and what is right."""
    columns = [
        text("Place", "place"),
        text("The paper says", "says"),
        text("What is right, or meant", "right"),
        text("Known from", "source"),
    ]
    return Table(columns, pd.DataFrame(map(dict, context.paper.errata)))


def _number(value: float) -> str:
    return integer(value) if float(value).is_integer() else significant(value, 5)


def _computed(row: Row) -> str:
    """Return the value; in per cent where the paper prints it so."""
    if not pd.isna(row["other"]):
        return " and ".join(_number(value) for value in (row["value"], row["other"]))
    if pd.notna(row["printed"]) and row["printed"].endswith("%"):
        return f"{_number(round(100 * row['value'], 9))} %"
    return _number(row["value"])


def _agreement(row: Row) -> str:
    if row["agreement"] not in {DIFFERS, NOT_EQUAL}:
        return row["agreement"]
    than = "what is printed" if pd.isna(row["other"]) else "the second"
    more = "more" if row["off"] > 0 else "less"
    return f"{row['agreement']} ({fixed(100 * abs(row['off']), 2)}\u00a0% {more} than {than})"


def _formula(row: Row) -> str:
    both = row["formula"] if pd.isna(row["equals"]) else f"{row['formula']} and {row['equals']}"
    return f"{both}; {row['values']}" if row["values"] else both


def assumptions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row an assumption, alternative and experiment that it was run on: our number under both.

    The claims' answers under both stand beside them, whether they change or not.

    Option `numbers`: "<metric> <split>", separated by commas; of an experiment the first that it has.
    """
    given, where = options["numbers"], context.option_key(table_id, "numbers")
    numbers = [tuple(pair.split()) for pair in given.split(",")]
    if any(len(pair) != 2 for pair in numbers):
        raise UserError(f"{where}: '{given}' is no list of a metric and its split; write 'perplexity test'")
    _refuse_unknown(context, where, numbers)
    by_suffix = {o.suffix: o for o in outcomes(context)}
    rows = [row for key in context.paper.assumptions for row in _rows(context, key, by_suffix, numbers)]
    frame = pd.DataFrame(rows, columns=_ASSUMPTIONS_KEYS).astype({"n": "Int64", "chosen_n": "Int64"})
    frame["first"] = ~frame.assumption.duplicated()
    frame["claims"] = frame.claims.mask(frame.duplicated(["assumption", "alternative"]), "")
    several = frame.loc[frame.metric.notna(), ["metric", "split"]].drop_duplicates()
    columns = [column for column in _ASSUMPTIONS_COLUMNS if column is not _MEASURED or len(several) > 1]
    run = sum(bool(o.status.run) if o.trains else bool(o.judged) for o in by_suffix.values())
    changed = [suffix for suffix, outcome in by_suffix.items() if outcome.turned]
    notes = [f"Alternatives with runs: {run} of {len(by_suffix)}; some claim changes under {len(changed)} of them."]
    notes = notes if by_suffix else []
    if frame.difference_in_deviations.notna().any():
        runs = context.runs
        one = "fold" if any(runs[name].by_fold for name in frame.experiment.dropna() if name in runs) else "replica"
        notes.append(f"Differences in brackets are in SDs of one {one}.")
    notes += _finished_alone(context, frame)
    notes += noted(context, frame.experiment.dropna(), frame, shares=(frame.unit == "share").any())
    entries = [entry for outcome in by_suffix.values() for entry in outcome.claims.values()]
    judged = filter(verdicts.was_judged, entries)
    if any(verdicts.is_looked_at(entry) and verdicts.part_of(entry) for entry in judged):
        notes.append("(2 of 4 comparisons): the others were not run under the alternative.")
    if any(map(verdicts.was_judged, entries)):
        notes.append(
            "A claim changes where the alternative puts it on the other side, or decides it where our choice does not."
        )
    if not all(map(verdicts.is_looked_at, entries)):
        notes.append("Not looked at: the claim's experiments are not trained under the alternative.")
    notes += [f"Deviation {key}: {entry.title}." for key, entry in context.paper.deviations.items()]
    return Table(columns, frame, notes)


def _finished_alone(context: Context, frame: pd.DataFrame) -> list[str]:
    """Write "Means are over the replicas that finished: LSTM, T = 500: 2 of 10, 3 of 10 under weight-law=corrected"."""
    counts = []
    for row in frame[frame.experiment.notna()].itertuples():
        suffix = f"{row.assumption}={row.alternative}"
        both = [context.status(run) for run in (row.experiment, f"{row.experiment}@{suffix}")]
        if any(one.finished and one.diverged for one in both):
            chosen, other = (f"{one.finished} of {one.run}" for one in both)
            counts.append(f"{row.experiment_title}: {chosen}, {other} under {suffix}")
    return [f"Means are over the replicas that finished: {'; '.join(counts)}."] if counts else []


def _refuse_unknown(context: Context, where: str, numbers: list[tuple[str, str]]) -> None:
    """Refuse a number that no record, claim or printed number has, where a finished run has none of them all."""
    stated = {term.quantity for claim in context.paper.claims.values() for term in list_terms(claim)}
    stated |= {(r.metric, r.split) for entry in context.paper.experiments.values() for r in entry.reported}
    unknown = [" ".join(pair) for pair in numbers if pair not in context.units.keys() | stated]
    runs = {run for name, base, _ in context.paper.variants() for run in (name, base)}
    finished = [run for run in runs if context.status(run).finished]
    if unknown and not all(any(len(context.values(run, *q)) for q in numbers) for run in finished):
        raise UserError(f"{where}: no record has '{unknown[0]}'; {known(unknown[0], map(' '.join, context.units))}")


def _rows(
    context: Context, key: str, by_suffix: Mapping[str, Outcome], numbers: list[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    entry = context.paper.assumptions[key]
    common = {"assumption": key, **picked(entry, "title", "choice", "source", "unrun")}
    if not entry.alternatives:
        yield common
    for alternative, choice in entry.alternatives.items():
        outcome, before = by_suffix[f"{key}={alternative}"], ""
        under = common | {"alternative": alternative, "state": outcome.state}
        under["claims"] = verdicts.turns(outcome.claims.items()) or None
        if choice.metrics:
            replaced = "; ".join(
                f"{plain(other)} in place of {plain(metric)}" for metric, other in choice.metrics.items()
            )
            yield under | {"absence": "the same records", "settings": replaced}
        for name in choice.experiments:
            changed = settings(context.paper, choice.changes(name))
            compared = _compared(context, name, outcome.suffix, numbers)
            yield under | compared | {"settings": changed, "again": changed == before}
            before = changed


def _compared(context: Context, name: str, suffix: str, numbers: list[tuple[str, str]]) -> dict[str, Any]:
    variant = f"{name}@{suffix}"
    measured_quantities = (q for q in numbers if len(context.values(name, *q)) or len(context.values(variant, *q)))
    quantity = next(measured_quantities, None)
    # Which of several numbers it will have is not known before there is one.
    metric, split = quantity or (numbers[0] if len(numbers) == 1 else (None, None))
    chosen, other = (measured(context, run, *(quantity or numbers[0])) for run in (name, variant))
    difference, in_deviations = _above(context, (variant, other), (name, chosen), quantity or numbers[0])
    row = {"experiment": name, "experiment_title": context.title(name), "metric": metric, "split": split}
    row |= {**values(chosen, "chosen_mean"), "chosen_n": chosen.n, **values(other), "n": other.n}
    row |= picked(context.status(variant), "diverged", "run", "absence")
    row |= {"difference": difference, "difference_in_deviations": in_deviations}
    return row | {"unit": context.unit(*quantity) if quantity else None}


def _above(
    context: Context, variant: tuple[str, Measured], chosen: tuple[str, Measured], quantity: tuple[str, str]
) -> tuple[float | None, float | None]:
    """Return by how much the mean under the alternative is above that as chosen, and that in SDs.

    Of folds, it is the difference on those that both have.
    """
    (variant_name, other), (name, own) = variant, chosen
    if any(replica.fold is not None for replica in context.replicas(name)):
        of_variant, of_chosen = (context.by_fold(run, *quantity) for run in (variant_name, name))
        difference = mean((of_variant - of_chosen).dropna())
        return difference, difference / own.deviation if difference is not None and own.deviation else None
    difference = None if other.mean is None or own.mean is None else other.mean - own.mean
    gap = own.gap_in_deviations(other.mean)
    return difference, None if gap is None else -gap


def _spread(row: Row, key: str) -> str:
    low, high, least = row[f"{key}low"], row[f"{key}high"], rounding.least_of(row["metric"])
    return even(row[f"{key}mean"], low, high, share=row["unit"] == "share", least=least)


def _instead(row: Row) -> str:
    if pd.isna(row["absence"]):
        return NONE
    if pd.isna(row["run"]) or not row["run"]:
        return row["absence"]
    if pd.isna(row["mean"]):
        return "diverged" if row["run"] == row["diverged"] else "no such number"
    return _spread(row, "")


def _difference(row: Row) -> str:
    value, in_deviations = row["difference"], row["difference_in_deviations"]
    if pd.isna(value):
        return NONE
    whole = float(value).is_integer() and abs(value) >= 10
    shown = f"{'+' if value > 0 else ''}{integer(value) if whole else significant(value, 3)}"
    if pd.isna(in_deviations):
        return shown
    return f"{shown} ({fixed(in_deviations, 1) if abs(in_deviations) < 1000 else significant(in_deviations)})"


def _choice(row: Row) -> str:
    return f"{row['choice']} (source: {row['source']})" if row["first"] else ""


def _alternative(row: Row) -> str:
    if pd.isna(row["alternative"]):
        return "none is run" if pd.isna(row["unrun"]) else f"none is run: {row['unrun']}"
    return "" if row["again"] is True else f"{row['alternative']}: {row['settings']}"


_ASSUMPTIONS_KEYS = [
    *("assumption", "title", "choice", "source", "unrun", "alternative", "settings", "state"),
    *("experiment", "experiment_title", "metric", "split", "unit"),
    *("chosen_mean", "chosen_std", "chosen_log_std", "chosen_low", "chosen_high", "chosen_n"),
    *("mean", "std", "log_std", "low", "high", "n"),
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
    text("Claims: as chosen → under it", "claims"),
    text("Run on", "experiment_title"),
    _MEASURED,
    Column(f"As chosen ({INTERVAL})", lambda row: _spread(row, "chosen_")),
    Column(f"Under the alternative ({INTERVAL})", _instead),
    Column("Difference (in SDs)", _difference),
]


_SETBACK = 1.5
"""A validation perplexity of so many times an earlier one is no noise."""


def perplexity(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row an experiment: the paper's test perplexity, ours ± its interval, and the gap, absolute and in SDs.

    Both rest on the deviation of one replica that verdicts take (`parts.spreads`). An experiment that this tier trains
    on another corpus is not set beside the paper's number.
    """
    names = context.cited_by(table_id)
    rows = pd.DataFrame([_model_row(context, name) for name in names]).astype({"parameters": "Int64"})
    known = {name for name in names if context.printed(name, "perplexity", "test") is not None}

    def paper(row: Row) -> str:
        if not row["paper_ran"]:
            return "not run by the paper"
        return "other corpus" if row["replaced"] and row["experiment"] in known else fixed(row["paper"], 1)

    columns = [
        cells.MODEL,
        *([text("Corpus", "corpus")] if rows.corpus.nunique() > 1 else []),
        cells.PARAMETERS,
        Column("Test perplexity: paper", paper),
        cells.ours(f"Test perplexity: ours ({INTERVAL})", "mean", 2, least=1.0),
        cells.REPLICAS,
        cells.number("Gap", "gap", 2),
        cells.number("Gap in SDs", "gap_in_std", 1),
        cells.interval(f"Validation ({INTERVAL})", "valid_mean", 2, least=1.0),
        *([cells.number("Least possible", "floor", 2)] if rows.floor.notna().any() else []),
    ]
    notes = words.reductions(context, [name for name in names if not context.replaced_dataset(name)])
    notes += words.corpora(context, names)
    notes += noted(context, names, rows, gaps=rows.gap.notna().any())
    notes += [note for name in names for note in _setbacks(context, name)]
    return verdicts.add_claims(context, Table(columns, rows, notes), lambda row: ("perplexity *", "cross_entropy *"))


def _model_row(context: Context, name: str) -> dict[str, Any]:
    status, replaced = context.status(name), context.replaced_dataset(name)
    measurement = measured(context, name, "perplexity", "test")
    given, number = context.reported(name, "perplexity", "test"), context.printed(name, "perplexity", "test")
    # The number stands in the paper's column only where it is about the same text.
    paper = None if replaced else number
    size = cells.parameters(context, name)
    entropy_rate = mean(context.values(name, "source_entropy", "test")) if replaced else None
    return {
        "experiment": name,
        "title": context.title(name),
        "corpus": context.datasets[replaced or context.entry(name).data.dataset].title,
        "replaced": replaced is not None,
        "parameters": context.printed(name, "parameters", "model") if size is None else size,
        "paper": paper,
        "paper_ran": not given or number is not None,
        **values(measurement),
        "n": measurement.n,
        "gap": measurement.gap(paper),
        "replica_log_std": measurement.deviation,
        "freedom": measurement.df,
        "gap_in_std": measurement.gap_in_deviations(paper),
        **cells.all_values(context, name, {"valid_mean": ("perplexity", "valid")}),
        "floor": to_perplexity(entropy_rate) if entropy_rate is not None else None,
        **picked(status, "diverged", "run", "wanted"),
        "absence": status.absence_of(measurement.mean),
    }


_SIDE_WORDS = {"read": "read last", "predicted": "predicted"}


def loss_by_count(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row a side and band of counts: the mean loss of every experiment over its evaluations, and its SD.

    Of two experiments the last column is the second's mean minus the first's.
    """
    names = context.cited_by(table_id)
    experiments = [context.runs[name] for name in names if name in context.runs]
    rows = list(losses_by_count(experiments, options["split"]))
    columns = [
        Column("Word", lambda row: _SIDE_WORDS[row["side"]], words=True),
        Column("Count in training", lambda row: band_words(row["band"])),
        Column("Words", lambda row: integer(row["words"])),
    ]
    for of in experiments:
        columns += [cells.number(of.title, f"{of.name}.mean", 4), cells.number(f"SD, {of.title}", f"{of.name}.std", 4)]
    if len(experiments) == 2:
        ends = [f"{of.name}.mean" for of in experiments]
        for row in rows:
            row["change"] = None if None in (both := [row[end] for end in ends]) else both[1] - both[0]
        columns.append(Column("Change", lambda row: cells.signed(row["change"], 4)))
    waiting = [context.title(name) for name in names if name not in {of.name for of in experiments if of.evaluations}]
    notes = [f"{of.title}: {plural(len(of.evaluations), 'evaluation')}." for of in experiments if of.evaluations]
    notes += [f"No evaluation of its weights yet: {'; '.join(waiting)}."] if waiting else []
    keys = ["side", "band", "words"]
    keys += [f"{of.name}.{part}" for of in experiments for part in ("mean", "std", "n")]
    keys += ["change"] if len(experiments) == 2 else []
    return Table(columns, pd.DataFrame(rows, columns=keys), notes)


def _setbacks(context: Context, name: str) -> list[str]:
    """Of each replica whose validation perplexity rose far above an earlier one, where and how far."""
    setbacks = []
    for replica, losses in context.points(name, "cross_entropy", "valid").items():
        course = losses.dropna().map(to_perplexity)
        after = course[course.index > course.idxmin()]
        risen = course[course > _SETBACK * course.cummin()]
        best, last, least = integer(course.idxmin()), integer(course.index[-1]), fixed(course.min(), 0)
        if len(after) and after.max() > _SETBACK * course.min():
            highest = fixed(after.max(), 0)
            later = f"the one after it had {highest}"
            if len(after) > 1:
                later = f"later ones had {fixed(after.min(), 0)} to {highest} (epoch {integer(after.idxmax())})"
            setbacks.append(
                f"epoch {best} of {last} was the best of replica {replica}, with a validation perplexity of {least}; "
                f"{later}"
            )
        elif len(risen):
            setbacks.append(
                f"replica {replica} rose to a validation perplexity of {fixed(risen.max(), 0)} in epoch "
                f"{integer(risen.idxmax())}; its best, {least}, is that of epoch {best} of {last}"
            )
    return [f"{context.title(name)} was unstable for a while: {'; '.join(setbacks)}."] if setbacks else []
