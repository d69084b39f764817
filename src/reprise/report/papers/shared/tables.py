"""Make the tables that any paper may have: claims, checks, arithmetic, errata, assumptions, and perplexities."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from reprise.config.claims import Claim
from reprise.config.formula import read_printed
from reprise.errors import UserError, suggest_name
from reprise.evidence.arithmetic import AGREES, DIFFERS, NOT_EQUAL, compute_number
from reprise.evidence.contrasts import list_terms
from reprise.evidence.decisions import Decision, Estimated
from reprise.evidence.losses import list_losses_by_count
from reprise.evidence.runs import Runs
from reprise.evidence.verdicts import JUDGED, NOT_RUN
from reprise.records.resolved import FULL
from reprise.report.papers.shared import cells
from reprise.report.papers.shared.cells import Row, make_mean_values, make_text_column, pick_attributes
from reprise.report.parts import rounding, verdicts, wording
from reprise.report.parts.context import Context
from reprise.report.parts.names import describe_count_band, humanize_metric, name_metric
from reprise.report.parts.readings import READING_HEADERS, READING_NOTES, make_reading_rows
from reprise.report.parts.rounding import (
    DASH,
    compute_mean,
    format_count,
    format_estimate,
    format_fixed,
    format_integer,
    format_significant,
)
from reprise.report.parts.rows import (
    ANSWER_NAMES,
    HEADERS,
    Cells,
    make_claim_cells,
    make_co_primary_rows,
    make_comparison_rows,
    select_marks,
)
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.templates import render_claim_notes
from reprise.report.parts.uncertainty import INTERVAL, MeanEstimate, estimate_mean, write_interval_notes
from reprise.report.parts.verdicts import AlternativeResult, list_alternative_results
from reprise.report.parts.wording import add_full_stop, describe_settings
from reprise.units import convert_to_perplexity


def claims(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per claim and, if there are several, per comparison; what decides each claim is folded.

    Raises:
        UserError: claims.json is missing, or lacks a claim.
    """
    rows, details, unjudged = [], [], {}
    for key, claim in context.paper.claims.items():
        decision = _get_decision(context, key)
        row = make_claim_cells(key, claim.label, decision)
        details.append((f"{key}: {row.answer}", _list_details(context, claim, decision)))
        if decision.answer in JUDGED:
            rows += _make_claim_rows(context, key, row, decision)
        else:
            unjudged.setdefault(row.answer, []).append(key)
    if len(distances := context.readings) > 1:
        distance_rows = [READING_HEADERS, ["--"] * len(READING_HEADERS), *make_reading_rows(distances)]
        distance_text = "\n".join(f"| {' | '.join(line)} |" for line in distance_rows)
        details.append(("Settings by their distance from the paper's numbers", [distance_text, *READING_NOTES]))
    columns = [Column(HEADERS[0], lambda row: row["claim"], is_text=True)]
    columns += [
        make_text_column(head, key)
        for head, key in zip(HEADERS[1:], ("compared", "paper", "ours", "n", "answer"), strict=True)
    ]
    columns.append(make_text_column("Size", "size"))
    keys = ["key", "evidence", "number", *(field.name for field in fields(Cells))]
    notes = _write_claims_notes(context, rows, unjudged)
    return Table(columns, pd.DataFrame(rows, columns=keys), notes, details=details)


def _get_decision(context: Context, key: str) -> Decision:
    """Return the decision on a claim; a UserError names the claim that claims.json lacks."""
    if key not in context.claims:
        raise UserError(
            f"results/{context.tier}/claims.json: no claim {context.paper_id}/{key}; "
            f"run `python -m reprise verify --tier {context.tier}`"
        )
    return context.claims[key]


def _make_claim_rows(context: Context, key: str, row: Cells, decision: Decision) -> Iterator[dict[str, Any]]:
    """Yield the row of a claim, one of each of several comparisons, and one of every setting of equal rank."""
    common = {"key": key, "evidence": decision.evidence}
    yield common | {"number": 0} | asdict(row)
    if len(decision.comparisons) > 1:
        for i, comparison in enumerate(make_comparison_rows(decision), 1):
            yield common | {"number": i} | asdict(comparison) | {"claim": "", "answer": ""}
    for setting in make_co_primary_rows(decision, partial(verdicts.name_alternative, context.paper)):
        yield common | {"number": 0} | asdict(setting) | {"claim": f"· {setting.claim}"}


def _write_claims_notes(
    context: Context, rows: Sequence[Mapping[str, Any]], unjudged: Mapping[str, Sequence[str]]
) -> list[str]:
    """Write which claims are not judged, what the marks in the rows mean, and how the numbers differ."""
    notes = [f"{answer.capitalize()}: {', '.join(keys)}." for answer, keys in unjudged.items()]
    if context.tier == FULL and NOT_RUN in unjudged:
        notes.append(f"python -m reprise estimate {context.paper_id} lists what is not run and how long it takes.")
    texts = [str(row[field.name]) for row in rows for field in fields(Cells)]
    notes += [f"{mark}: {meaning}" for mark, meaning in select_marks(texts).items() if rows]
    if origins := _list_unprinted_origins(context):
        notes.append(f"Paper: numbers that the document does not print have another origin: {'; '.join(origins)}.")
    return [*notes, *_list_deviations(context)]


def _list_unprinted_origins(context: Context) -> list[str]:
    """List where the paper's numbers in a table of claims come from, if not from the paper itself."""
    judged = [decision for key in context.paper.claims if (decision := context.claims[key]).answer in JUDGED]
    comparisons = [one for decision in judged for one in decision.comparisons if isinstance(one, Estimated)]
    shown = [term for comparison in comparisons for term in comparison.terms if term.paper is not None]
    reported = [context.find_reported(term.experiment, term.metric, term.split) for term in shown]
    return [origin for origin in dict.fromkeys(one.origin for one in reported) if origin.partition(" ")[0] != "paper"]


def _list_deviations(context: Context) -> list[str]:
    return [f"Deviation {key}: {entry.title}." for key, entry in context.paper.deviations.items()]


def _list_details(context: Context, claim: Claim, decision: Decision) -> list[str]:
    """List what is folded under the table: the paper's words, the test, notes, and what decides the claim."""
    lines = [claim.source, f"Tested: {add_full_stop(claim.tested)}", *render_claim_notes(decision)]
    full_tier_decision = context.full_tier_claims.get(decision.claim)
    if full_tier_decision and full_tier_decision.answer in JUDGED and full_tier_decision.answer != decision.answer:
        lines.append(f"{wording.TIER_NAMES[FULL]}: {ANSWER_NAMES[full_tier_decision.answer]}.")
    if decision.settings and decision.settings.of > 1:
        lines.append(
            f"The estimate is on the claim's side in {decision.settings.holds} of {decision.settings.of} settings."
        )
    return [
        *lines,
        *(f"{name}: {add_full_stop(value)}" for name, value in verdicts.list_decision_rules(claim, decision)),
    ]


def checks(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per comparison of a check: its largest error, the tolerance, whether it holds, and its claims."""
    rows, notes = [], []
    for name in context.list_cited_experiments(table_id):
        experiment, tolerance = context.get_entry(name), context.get_entry(name).check.tolerance
        claims = [key for key, claim in context.paper.claims.items() if name in (*claim.checks, *claim.corrections)]
        common = {"check": name, "title": experiment.title, "tolerance": tolerance, "claims": ", ".join(claims)}
        errors = [
            (replica, quantity, error)
            for replica in context.list_replicas(name, "finished")
            for quantity, error in sorted(replica.metrics.items())
            if quantity[0] == "max_error"
        ]
        for replica, quantity, error in errors:
            error_values = {"unit": replica.units[quantity], "n": replica.sizes[quantity]}
            comparison = {"comparison": quantity[1], "error": error, **error_values}
            rows.append(common | comparison | {"holds": error <= tolerance})
        if not errors:
            rows.append(common | {"comparison": context.get_status(name).missing_reason})
        if experiment.note:
            notes.append(f"{experiment.title}: {experiment.note.strip()}")
    columns = [
        make_text_column("Check", "title"),
        make_text_column("Comparison", "comparison"),
        Column("Largest error", _format_error),
        Column("Tolerance", lambda row: format_significant(row["tolerance"], 2)),
        Column("Holds", lambda row: cells.format_yes_no(row["holds"]), is_text=True),
        Column("Claims", lambda row: row["claims"] or DASH, is_text=True),
    ]
    keys = ["check", "title", "comparison", "error", "unit", "n", "tolerance", "holds", "claims"]
    return Table(columns, pd.DataFrame(rows, columns=keys).astype({"holds": "boolean"}), notes)


def _format_error(row: Row) -> str:
    """Write an error with its unit."""
    if pd.isna(row["error"]):
        return DASH
    unit = "" if row["unit"] in {"relative", "1", "share"} else row["unit"]
    return f"{format_significant(row['error'], 2)} {unit}".strip()


def printed(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per printed number: its formula, its value, and whether they agree. Disagreements come first."""
    rows = []
    for key, entry in context.paper.arithmetic.items():
        values = {"id": key, **pick_attributes(entry, "text", "place", "printed", "formula", "equals")}
        values["values"] = ", ".join(f"{name} = {_format_value(value)}" for name, value in entry.values.items())
        rows.append(
            values
            | pick_attributes(compute_number(entry), "value", "second_value", "agreement", "relative_difference")
            | {"note": entry.note}
        )
    rows.sort(key=lambda row: row["agreement"] == AGREES)
    counts = Counter(row["agreement"] for row in rows).most_common()
    notes = [f"{'; '.join(f'{answer}: {n} of {len(rows)}' for answer, n in counts)}.".capitalize()] if rows else []
    notes += [f"{row['text'].removesuffix('.')}: {row['note'].strip()}" for row in rows if row["note"]]
    columns = [
        make_text_column("Number", "text"),
        make_text_column("Place", "place"),
        Column("Printed", lambda row: "the same" if pd.isna(row["printed"]) else row["printed"]),
        Column("Formula", _format_formula, is_text=True),
        Column("Value", _format_computed),
        Column("Agreement", _format_agreement, is_text=True),
    ]
    return Table(columns, pd.DataFrame(rows), notes)


def errata(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per erratum of the paper: what it says, and what is right."""
    columns = [
        make_text_column("Place", "place"),
        make_text_column("The paper says", "says"),
        make_text_column("What is right, or meant", "right"),
        make_text_column("Known from", "source"),
    ]
    return Table(columns, pd.DataFrame(map(dict, context.paper.errata)))


def _format_value(value: float) -> str:
    """Write a number; a count in full."""
    return format_integer(value) if float(value).is_integer() else format_significant(value, 5)


def _format_computed(row: Row) -> str:
    """Write the computed value; in per cent if the paper prints it so."""
    if not pd.isna(row["second_value"]):
        return " and ".join(_format_value(value) for value in (row["value"], row["second_value"]))
    if pd.notna(row["printed"]) and row["printed"].endswith("%"):
        return f"{_format_value(round(100 * row['value'], 9))} %"
    return _format_value(row["value"])


def _format_agreement(row: Row) -> str:
    """Write whether printed and computed numbers agree, and by how much they differ."""
    if row["agreement"] not in {DIFFERS, NOT_EQUAL}:
        return row["agreement"]
    if pd.notna(row["printed"]) and row["printed"].endswith("%") and pd.isna(row["second_value"]):
        printed, _ = read_printed(row["printed"])
        points = 100 * (row["value"] - float(printed))
        return f"{row['agreement']} ({_format_value(round(abs(points), 2))} points {'more' if points > 0 else 'less'})"
    reference = "what is printed" if pd.isna(row["second_value"]) else "the second"
    direction = "more" if row["relative_difference"] > 0 else "less"
    distance = format_fixed(100 * abs(row["relative_difference"]), 2)
    return f"{row['agreement']} ({distance}\u00a0% {direction} than {reference})"


def _format_formula(row: Row) -> str:
    """Write the formula, or both if two are compared, and the values in them."""
    formula = row["formula"] if pd.isna(row["equals"]) else f"{row['formula']} and {row['equals']}"
    return f"{formula}; {row['values']}" if row["values"] else formula


def assumptions(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per assumption, alternative and experiment: our number as chosen and under the alternative.

    The claims' answers under both stand beside them, whether they change or not.

    Option `numbers`: "<metric> <split>", separated by commas; each experiment shows the first that it has.
    """
    option, option_name = options["numbers"], context.name_option(table_id, "numbers")
    numbers = [tuple(pair.split()) for pair in option.split(",")]
    if any(len(pair) != 2 for pair in numbers):
        raise UserError(f"{option_name}: '{option}' is no list of a metric and its split; write 'perplexity test'")
    _require_known_metrics(context, option_name, numbers)
    results = {result.suffix: result for result in list_alternative_results(context)}
    rows = [row for key in context.paper.assumptions for row in _make_assumption_rows(context, key, results, numbers)]
    frame = pd.DataFrame(rows, columns=_ASSUMPTION_KEYS).astype({"n": "Int64", "chosen_n": "Int64"})
    frame["is_first_row"] = ~frame.assumption.duplicated()
    frame["claims"] = frame.claims.mask(frame.duplicated(["assumption", "alternative"]), "")
    metrics = frame.loc[frame.metric.notna(), ["metric", "split"]].drop_duplicates()
    columns = [column for column in _ASSUMPTION_COLUMNS if column is not _METRIC_COLUMN or len(metrics) > 1]
    return Table(columns, frame, _write_assumption_notes(context, frame, list(results.values())))


def _write_assumption_notes(context: Context, frame: pd.DataFrame, results: Sequence[AlternativeResult]) -> list[str]:
    """Write how many alternatives were run and change an answer, and what the columns of `frame` mean."""
    run_count, notes = sum(result.has_runs for result in results), []
    if results:
        notes.append(f"Alternatives run: {run_count} of {len(results)}.")
    if run_count:
        changed_count = sum(bool(result.changed_claims) for result in results)
        notes[-1] += f" An answer, or the side of an undecided estimate, changes under {changed_count} of them."
    if any(choice.declared_afterwards for _, _, choice in context.paper.list_choices()):
        notes.append("An alternative with an asterisk was declared when results of our choice were known.")
    if frame.difference_in_sds.notna().any():
        runs = context.runs
        unit = "fold" if any(runs[name].by_fold for name in frame.experiment.dropna() if name in runs) else "replica"
        notes.append(f"Differences in brackets are in SDs of one {unit}.")
    notes += _write_finished_note(context, frame)
    notes += write_interval_notes(context, frame.experiment.dropna(), frame, has_shares=(frame.unit == "share").any())
    entries = [entry for result in results for entry in result.claims.values()]
    judged = filter(verdicts.is_judged, entries)
    if any(verdicts.has_comparisons(entry) and verdicts.format_coverage(entry) for entry in judged):
        notes.append("(k of n comparisons): the other n − k were not run under the alternative.")
    if not all(map(verdicts.has_comparisons, entries)):
        notes.append("Not part of the alternative: no experiment of the claim is planned under it.")
    return notes + _list_deviations(context)


def _write_finished_note(context: Context, frame: pd.DataFrame) -> list[str]:
    """Write how many replicas of an experiment and its variant the means are over, if one diverged."""
    counts = []
    for row in frame[frame.experiment.notna()].itertuples():
        suffix = f"{row.assumption}={row.alternative}"
        statuses = [context.get_status(run) for run in (row.experiment, f"{row.experiment}@{suffix}")]
        if any(status.finished and status.diverged for status in statuses):
            chosen, other = (f"{status.finished} of {status.recorded}" for status in statuses)
            counts.append(f"{row.experiment_title}: {chosen} as chosen, {other} under {suffix}")
    return [f"Means are over the replicas that finished. {'; '.join(counts)}."] if counts else []


def _require_known_metrics(context: Context, option_name: str, metrics: list[tuple[str, str]]) -> None:
    """Refuse a metric that no record, claim or printed number has, if a finished run has none of them."""
    known_metrics = {term.quantity for claim in context.paper.claims.values() for term in list_terms(claim)}
    known_metrics |= {(r.metric, r.split) for entry in context.paper.experiments.values() for r in entry.reported}
    unknown = [" ".join(pair) for pair in metrics if pair not in context.units.keys() | known_metrics]
    runs = {run for name, base, _ in context.paper.list_variants() for run in (name, base)}
    finished = [run for run in runs if context.get_status(run).finished]
    if unknown and not all(any(len(context.get_values(run, *q)) for q in metrics) for run in finished):
        raise UserError(
            f"{option_name}: no record has '{unknown[0]}'; {suggest_name(unknown[0], map(' '.join, context.units))}"
        )


def _make_assumption_rows(
    context: Context, key: str, results: Mapping[str, AlternativeResult], metrics: list[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of an assumption."""
    entry = context.paper.assumptions[key]
    common = {"assumption": key, **pick_attributes(entry, "title", "choice", "source", "unrun")}
    if not entry.alternatives:
        yield common
    for alternative, choice in entry.alternatives.items():
        result, previous = results[f"{key}={alternative}"], ""
        alternative_row = common | {"alternative": alternative, "state": result.state}
        alternative_row |= pick_attributes(choice, "declared_afterwards")
        alternative_row["claims"] = verdicts.summarise_changes(result.claims.items()) or None
        if choice.metrics:
            replaced = "; ".join(
                f"{humanize_metric(other)} in place of {humanize_metric(metric)}"
                for metric, other in choice.metrics.items()
            )
            yield alternative_row | {"missing_reason": "the same records", "settings": replaced}
        for name in choice.experiments:
            description = describe_settings(context.paper, choice.get_changes(name))
            comparison = _compare_variant(context, name, result.suffix, metrics)
            yield alternative_row | comparison | {"settings": description, "repeats_settings": description == previous}
            previous = description


def _compare_variant(context: Context, name: str, suffix: str, metrics: list[tuple[str, str]]) -> dict[str, Any]:
    """Compare an experiment with its variant, by the first metric that either has."""
    variant = f"{name}@{suffix}"
    measured_metrics = (q for q in metrics if len(context.get_values(name, *q)) or len(context.get_values(variant, *q)))
    measured_metric = next(measured_metrics, None)
    # Which of several numbers it will have is not known before there is one.
    metric, split = measured_metric or (metrics[0] if len(metrics) == 1 else (None, None))
    chosen, other = (estimate_mean(context, run, *(measured_metric or metrics[0])) for run in (name, variant))
    difference, difference_in_sds = _compute_difference(
        context, (variant, other), (name, chosen), measured_metric or metrics[0]
    )
    row = {"experiment": name, "experiment_title": context.get_title(name), "metric": metric, "split": split}
    row |= {**make_mean_values(chosen, "chosen_mean"), "chosen_n": chosen.n, **make_mean_values(other), "n": other.n}
    row |= pick_attributes(context.get_status(variant), "diverged", "recorded", "missing_reason")
    row |= {"difference": difference, "difference_in_sds": difference_in_sds}
    return row | {"unit": context.get_unit(*measured_metric) if measured_metric else None}


def _compute_difference(
    context: Context, variant: tuple[str, MeanEstimate], chosen: tuple[str, MeanEstimate], quantity: tuple[str, str]
) -> tuple[float | None, float | None]:
    """Return the variant's mean minus the mean as chosen, and the same in SDs of one replica.

    Folds are compared on those that both have.
    """
    (variant_name, variant_mean), (name, chosen_mean) = variant, chosen
    if any(replica.fold is not None for replica in context.list_replicas(name)):
        variant_values, chosen_values = (context.get_values_by_replica(run, *quantity) for run in (variant_name, name))
        difference = compute_mean((variant_values - chosen_values).dropna())
        gap = compute_mean((np.log(variant_values / chosen_values)).dropna()) if chosen_mean.is_log else difference
        return difference, gap / chosen_mean.replica_sd if gap is not None and chosen_mean.replica_sd else None
    difference = None if variant_mean.mean is None or chosen_mean.mean is None else variant_mean.mean - chosen_mean.mean
    gap = chosen_mean.compute_gap_in_sds(variant_mean.mean)
    return difference, None if gap is None else -gap


def _format_mean(row: Row, key: str) -> str:
    """Write a mean of a row with its interval."""
    low, high, lower_bound = row[f"{key}low"], row[f"{key}high"], rounding.find_lower_bound(row["metric"])
    return format_estimate(row[f"{key}mean"], low, high, is_share=row["unit"] == "share", lower_bound=lower_bound)


def _format_variant_mean(row: Row) -> str:
    """Write the mean under the alternative, or why there is none."""
    if pd.isna(row["missing_reason"]):
        return DASH
    if pd.isna(row["recorded"]) or not row["recorded"]:
        return row["missing_reason"]
    if pd.isna(row["mean"]):
        return "diverged" if row["recorded"] == row["diverged"] else "no such number"
    return _format_mean(row, "")


def _format_difference(row: Row) -> str:
    """Write the difference, and in brackets the same in SDs."""
    value, in_sds = row["difference"], row["difference_in_sds"]
    if pd.isna(value):
        return DASH
    is_count = float(value).is_integer() and abs(value) >= 10
    text = f"{'+' if value > 0 else ''}{format_integer(value) if is_count else format_significant(value, 3)}"
    if pd.isna(in_sds):
        return text
    return f"{text} ({format_fixed(in_sds, 1) if abs(in_sds) < 1000 else 'over 1,000'})"


def _format_choice(row: Row) -> str:
    """Write our choice and its source, in the assumption's first row."""
    return f"{row['choice']} (source: {row['source']})" if row["is_first_row"] else ""


def _format_alternative(row: Row) -> str:
    """Write the name and settings of an alternative, or why none is run."""
    if pd.isna(row["alternative"]):
        return "none is run" if pd.isna(row["unrun"]) else f"none is run: {row['unrun']}"
    mark = "*" if row["declared_afterwards"] is True else ""
    return "" if row["repeats_settings"] is True else f"{row['alternative']}{mark}: {row['settings']}"


_ASSUMPTION_KEYS = [
    *("assumption", "title", "choice", "source", "unrun", "alternative", "declared_afterwards", "settings", "state"),
    *("experiment", "experiment_title", "metric", "split", "unit"),
    *("chosen_mean", "chosen_std", "chosen_log_std", "chosen_low", "chosen_high", "chosen_n"),
    *("mean", "std", "log_std", "low", "high", "n"),
    *(
        "diverged",
        "recorded",
        "missing_reason",
        "difference",
        "difference_in_sds",
        "claims",
        "is_first_row",
        "repeats_settings",
    ),
]
_METRIC_COLUMN = Column(
    "Measured",
    lambda row: DASH if pd.isna(row["metric"]) else name_metric(row["metric"], row["split"]),
    is_text=True,
)
_ASSUMPTION_COLUMNS = [
    Column(
        "Assumption", lambda row: f"{row['title']} ({row['assumption']})" if row["is_first_row"] else "", is_text=True
    ),
    Column("Our choice", _format_choice, is_text=True),
    Column("Alternative", _format_alternative, is_text=True),
    make_text_column("Claims: as chosen → under it", "claims"),
    make_text_column("Run on", "experiment_title"),
    _METRIC_COLUMN,
    Column(f"As chosen ({INTERVAL})", lambda row: _format_mean(row, "chosen_")),
    Column(f"Under the alternative ({INTERVAL})", _format_variant_mean),
    Column("Difference (in SDs)", _format_difference),
]


def perplexity(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per experiment: the paper's test perplexity, ours with its interval, and the gap, also in SDs.

    The SD is that of one replica, as in verdicts (`parts.uncertainty`). An experiment trained on another corpus is not
    compared with the paper's number.
    """
    names = context.list_cited_experiments(table_id)
    rows = pd.DataFrame([_make_model_row(context, name) for name in names]).astype({"parameters": "Int64"})
    printed_names = {name for name in names if context.get_printed(name, "perplexity", "test") is not None}

    def format_paper(row: Row) -> str:
        if not row["paper_ran"]:
            return "not run by the paper"
        return (
            "other corpus"
            if row["is_corpus_replaced"] and row["experiment"] in printed_names
            else format_fixed(row["paper"], 1)
        )

    columns = [
        cells.MODEL_COLUMN,
        *([make_text_column("Corpus", "corpus")] if rows.corpus.nunique() > 1 else []),
        cells.PARAMETERS_COLUMN,
        Column("Test perplexity: paper", format_paper),
        cells.make_result_column(f"Test perplexity: ours ({INTERVAL})", "mean", 2, lower_bound=1.0),
        cells.REPLICAS_COLUMN,
        cells.make_number_column("Gap", "gap", 2),
        cells.make_number_column("Gap in SDs", "gap_in_std", 1),
        cells.make_interval_column(f"Validation ({INTERVAL})", "valid_mean", 2, lower_bound=1.0),
        *(
            [cells.make_number_column("Least possible", "least_possible", 2)]
            if rows.least_possible.notna().any()
            else []
        ),
    ]
    notes = wording.write_reduction_notes(context, [name for name in names if not context.find_replaced_dataset(name)])
    notes += wording.write_corpus_notes(context, names)
    notes += write_interval_notes(context, names, rows, has_gaps=rows.gap.notna().any())
    notes += [note for name in names for note in _write_instability_notes(context, name)]
    return verdicts.add_claims_column(
        context, Table(columns, rows, notes), lambda row: ("perplexity *", "cross_entropy *")
    )


def _make_model_row(context: Context, name: str) -> dict[str, Any]:
    """Return the raw values of an experiment."""
    status, replaced = context.get_status(name), context.find_replaced_dataset(name)
    estimate = estimate_mean(context, name, "perplexity", "test")
    reported = context.find_reported(name, "perplexity", "test")
    number = context.get_printed(name, "perplexity", "test")
    # The number stands in the paper's column only where it is about the same text.
    paper = None if replaced else number
    parameter_count = cells.find_parameter_count(context, name)
    entropy_rate = compute_mean(context.get_values(name, "source_entropy", "test")) if replaced else None
    return {
        "experiment": name,
        "title": context.get_title(name),
        "corpus": context.datasets[replaced or context.get_entry(name).data.dataset].title,
        "is_corpus_replaced": replaced is not None,
        "parameters": context.get_printed(name, "parameters", "model") if parameter_count is None else parameter_count,
        "paper": paper,
        "paper_ran": not reported or number is not None,
        **make_mean_values(estimate),
        "n": estimate.n,
        "gap": estimate.compute_gap(paper),
        "replica_log_std": estimate.replica_sd,
        "degrees_of_freedom": estimate.df,
        "gap_in_std": estimate.compute_gap_in_sds(paper),
        **cells.collect_mean_values(context, name, {"valid_mean": ("perplexity", "valid")}),
        "least_possible": convert_to_perplexity(entropy_rate) if entropy_rate is not None else None,
        **pick_attributes(status, "diverged", "recorded", "planned"),
        "missing_reason": status.explain_missing_value(estimate.mean),
    }


_SIDE_NAMES = {"read": "read last", "predicted": "predicted"}


def loss_by_count(context: Context, table_id: str, options: Mapping[str, Any]) -> Table:
    """Make a row per side and band of counts: each experiment's mean loss over its evaluations, and its SD.

    With two experiments, the last column is the second mean minus the first.
    """
    names = context.list_cited_experiments(table_id)
    table = make_loss_table([context.runs[name] for name in names if name in context.runs], options["split"])
    evaluated = {runs.name for runs in context.runs.values() if runs.evaluations}
    not_evaluated = [context.get_title(name) for name in names if name not in evaluated]
    table.notes.extend([f"Weights not evaluated yet: {'; '.join(not_evaluated)}."] if not_evaluated else [])
    return table


def make_loss_table(experiments: Sequence[Runs], split: str) -> Table:
    """Make the table of losses by count, with the experiments in this order; see `loss_by_count`."""
    rows = list(list_losses_by_count(experiments, split))
    columns = [
        Column("Word", lambda row: _SIDE_NAMES[row["side"]], is_text=True),
        Column("Count in training", lambda row: describe_count_band(row["band"])),
        Column("Words", lambda row: format_integer(row["words"])),
    ]
    for experiment in experiments:
        columns += [
            cells.make_number_column(experiment.title, f"{experiment.name}.mean", 4),
            cells.make_number_column(f"SD, {experiment.title}", f"{experiment.name}.std", 4),
        ]
    if len(experiments) == 2:
        mean_keys = [f"{experiment.name}.mean" for experiment in experiments]
        for row in rows:
            row["change"] = None if None in (means := [row[key] for key in mean_keys]) else means[1] - means[0]
        columns.append(Column("Change", lambda row: rounding.format_signed(row["change"], 4)))
    notes = [
        f"{experiment.title}: {format_count(len(experiment.evaluations), 'evaluation')}."
        for experiment in experiments
        if experiment.evaluations
    ]
    keys = ["side", "band", "words"]
    keys += [f"{experiment.name}.{part}" for experiment in experiments for part in ("mean", "std", "n")]
    keys += ["change"] if len(experiments) == 2 else []
    return Table(columns, pd.DataFrame(rows, columns=keys), notes)


def _write_instability_notes(context: Context, name: str) -> list[str]:
    """Write where a replica's validation perplexity rose far above an earlier one, and how far."""
    descriptions = []
    for replica, points in context.get_curve_points(name, "cross_entropy", "valid").items():
        losses = points.dropna()
        course = losses.map(convert_to_perplexity)
        later_losses = course[course.index > course.idxmin()]
        high_losses = course[cells.select_high_losses(losses).index]
        best, last = format_integer(course.idxmin()), format_integer(course.index[-1])
        lowest = format_fixed(course.min(), 0)
        if high_losses.index.max() > course.idxmin():
            highest = format_fixed(later_losses.max(), 0)
            epoch = format_integer(later_losses.idxmax())
            descriptions.append(
                f"replica {replica}: lowest {lowest} (epoch {best} of {last}), later up to {highest} (epoch {epoch})"
            )
        elif len(high_losses):
            descriptions.append(
                f"replica {replica}: up to {format_fixed(high_losses.max(), 0)} (epoch "
                f"{format_integer(high_losses.idxmax())}), lowest {lowest} (epoch {best} of {last})"
            )
    return [f"Validation perplexity of {context.get_title(name)}: {'; '.join(descriptions)}."] if descriptions else []
