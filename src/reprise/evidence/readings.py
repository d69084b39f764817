"""The distance of each reading from the paper's numbers: descriptive, and computed after the choice was made.

A reading is the chosen setting, or one alternative of one assumption. It is compared on rows, each one number of one
experiment, that the paper prints and that the reading has replicas for. The chosen setting is compared on the same
rows. No verdict depends on it, and it changes no choice.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from reprise.config.schema import Paper
from reprise.evidence.contrasts import Contrast, Term
from reprise.evidence.estimation import estimate_contrast
from reprise.evidence.runs import Runs, Table

CHOSEN = "as chosen"
_OUTLIER = 4
"""A row that is this many times as far from the paper as the next one is an outlier."""
MIN_ROWS = 2
"""Rows that a rank needs: one row has no difference."""


@dataclass(frozen=True)
class Row:
    """One printed number: logarithms of ours and the paper's, the SD of one replica of ours and its degrees of freedom.

    SD and degrees of freedom are None where they are unknown.
    """

    term: Term
    ours: float
    paper: float
    n: int
    sd: float | None
    df: float | None


@dataclass(frozen=True)
class Distance:
    """How far a reading is from the paper, over `rows` of its numbers.

    Attributes:
        level: Mean distance of levels, in %.
        effect: Mean distance of the differences of any two rows of one metric, in percentage points; None for one row.
        likelihood: Mean log likelihood of the paper's numbers, by Student's t with the SD between seeds; None without
            an SD.
        chosen_likelihood: That of the chosen setting on the same rows.
        chosen: The level of the chosen setting on the same rows.
        gaps: The distance from the paper's number in % of it, row by row, of this reading and of the chosen setting.
        factor: What all our numbers are multiplied by where the unit is in doubt; 1 elsewhere.
    """

    reading: str
    rows: int
    seeds: int
    level: float
    effect: float | None
    likelihood: float | None
    chosen_likelihood: float | None
    chosen: float
    gaps: tuple[Mapping[Term, float], Mapping[Term, float]]
    factor: float = 1.0


def rank_readings(paper: Paper, runs: Mapping[str, Runs]) -> list[Distance]:
    """Rank every reading that was run by the distance of its levels; readings with one row come last.

    A reading with too few replicas for an SD takes that of the chosen setting.
    """
    unit_in_doubt = any(claim.unit for claim in paper.claims.values())
    chosen = {row.term: row for row in _list_rows(runs, paper, {})}
    ranked = [_measure_distance(CHOSEN, list(chosen.values()), chosen, unit_in_doubt)] if chosen else []
    for assumption, alternative, choice in paper.list_choices():
        suffix = f"{assumption}={alternative}"
        variants = {e: of for e in choice.experiments if (of := runs.get(f"{e}@{suffix}")) and of.finished}
        rows = _list_rows(runs, paper, variants)
        if rows := [row for row in rows if row.term in chosen and row.term.experiment in variants]:
            ranked.append(_measure_distance(suffix, rows, chosen, unit_in_doubt))
    return sorted(ranked, key=lambda one: (one.rows < MIN_ROWS, one.level))


def summarise_gaps(gaps: Mapping[Term, float]) -> tuple[int, float, float | None]:
    """Summarise the distances of the rows from the paper's numbers, in %.

    Returns:
        The number of rows without an outlier, their largest distance, and the distance of the outlier, if any.
    """
    *most, far = sorted(gaps.values())
    if most and far >= _OUTLIER * most[-1]:
        return len(most), most[-1], far
    return len(gaps), far, None


HEAD = (
    *("setting", "rows", "seeds", "level %", "level % as chosen", "effect %"),
    *("log likelihood", "log likelihood as chosen", "factor"),
)


def make_rows(ranked: Sequence[Distance]) -> list[tuple[str, ...]]:
    """Return a row of cells for each reading, in the columns of `HEAD`."""
    list_numbers = [
        [_format(x) for x in (one.level, one.chosen, one.effect, one.likelihood, one.chosen_likelihood)]
        for one in ranked
    ]
    return [
        (one.reading, str(one.rows), str(one.seeds), *numbers, f"{one.factor:.3f}")
        for one, numbers in zip(ranked, list_numbers, strict=True)
    ]


def _format(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−") if value < 1000 else "> 1000"


def _list_rows(runs: Mapping[str, Runs], paper: Paper, variants: Mapping[str, Runs]) -> Iterable[Row]:
    """Yield every positive number that the paper prints for a trained experiment with a number of ours."""
    table = Table(runs)
    for name, entry in paper.experiments.items():
        of = variants.get(name, runs.get(name))
        if of is None or not of.learns:
            continue
        for quantity in dict.fromkeys((r.metric, r.split) for r in entry.reported):
            value, ours = of.reported_in_our_unit(quantity), of.combine([(1.0, quantity)]).values()
            if not value or not ours or min(value, *ours) <= 0 or of.counted([quantity]):
                continue
            term, mean = Term(name, quantity), sum(map(math.log, ours)) / len(ours)
            known = _estimate_sd(term, table.replace_by_variants({name: of})) or _estimate_sd(term, table)
            yield Row(term, mean, math.log(value), len(ours), *(known or (None, None)))


def _estimate_sd(term: Term, table: Table) -> tuple[float, float] | None:
    """Return the SD of the logarithm of one replica and its degrees of freedom."""
    measured = estimate_contrast(Contrast(((1.0, term),), log=True), table)
    if measured is None or measured.estimate.error is None or not measured.variances or not measured.variances[0]:
        return None
    return math.sqrt(measured.variances[0]), measured.estimate.df


def _measure_distance(name: str, rows: Sequence[Row], chosen: Mapping[Term, Row], unit_in_doubt: bool) -> Distance:
    shift = _fit_shift(rows) if unit_in_doubt else 0.0
    same = [chosen[row.term] for row in rows]
    base = _fit_shift(same) if unit_in_doubt else 0.0
    logs = {row.term: row.ours + shift - row.paper for row in rows}
    pairs = [abs(logs[a.term] - logs[b.term]) for a, b in combinations(rows, 2) if a.term.quantity == b.term.quantity]
    known = [(row, as_chosen) for row, as_chosen in zip(rows, same, strict=True) if row.sd and as_chosen.sd]
    return Distance(
        name,
        len(rows),
        sum(row.n for row in rows),
        _compute_level(rows, shift),
        100 * sum(pairs) / len(pairs) if pairs else None,
        _compute_log_likelihood([row for row, _ in known], shift),
        _compute_log_likelihood([row for _, row in known], base),
        _compute_level(same, base),
        (_compute_gaps(rows, shift), _compute_gaps(same, base)),
        math.exp(shift),
    )


def _compute_log_likelihood(rows: Sequence[Row], shift: float) -> float | None:
    """Return the mean log likelihood of the paper's numbers if they vary as ours do; None without rows."""
    from scipy import stats  # takes longer than most commands, so not above

    scales = [row.sd * math.sqrt(1 + 1 / row.n) for row in rows]
    logs = [
        float(stats.t.logpdf((row.ours + shift - row.paper) / scale, row.df)) - math.log(scale)
        for row, scale in zip(rows, scales, strict=True)
    ]
    return sum(logs) / len(logs) if logs else None


def _fit_shift(rows: Sequence[Row]) -> float:
    """Return the logarithm of the common factor that brings ours nearest to the paper's numbers."""
    return sum(row.paper - row.ours for row in rows) / len(rows)


def _compute_gaps(rows: Sequence[Row], shift: float) -> dict[Term, float]:
    return {row.term: 100 * abs(math.expm1(row.ours + shift - row.paper)) for row in rows}


def _compute_level(rows: Sequence[Row], shift: float) -> float:
    """Return the mean distance in %: the larger of two numbers over the smaller, minus 1."""
    return 100 * sum(math.expm1(abs(row.ours + shift - row.paper)) for row in rows) / len(rows)
