"""The distance of each reading from the paper's numbers: descriptive, and computed after the choice was made.

A reading is the chosen setting, or one alternative of one assumption. It is compared on rows, each one number of one
experiment, that the paper prints and that the reading has replicas for. The chosen setting is compared on the same
rows. No verdict depends on it, and it changes no choice.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from reprise.config.schema import Paper
from reprise.evidence.contrasts import Term
from reprise.evidence.estimation import estimate_replica_sd
from reprise.evidence.runs import Runs, Table
from reprise.evidence.statistics import compute_mean
from reprise.sums import add_in_order
from reprise.units import is_ratio_scale

CHOSEN = "as chosen"
MIN_ROWS = 2
"""Rows that a rank needs: one row has no difference."""


@dataclass(frozen=True)
class Row:
    """One printed number: ours and the paper's, the SD of one replica of ours and its degrees of freedom.

    Where `is_log` (perplexities), our mean is geometric and the SD that of the logarithm. SD and degrees of freedom are
    None where they are unknown. A `factor` multiplies ours where the unit of the paper's number is in doubt.
    """

    term: Term
    ours: float
    paper: float
    n: int
    is_log: bool
    sd: float | None
    df: float | None
    has_doubtful_unit: bool = False

    def compute_log_ratio(self, factor: float) -> float:
        """Return the logarithm of ours over the paper's."""
        return math.log(self._choose_factor(factor) * self.ours / self.paper)

    def compute_gap(self, factor: float) -> float:
        """Return the distance from the paper's number in % of it."""
        return 100 * abs(self._choose_factor(factor) * self.ours / self.paper - 1)

    def compute_prediction_sd(self, factor: float) -> float:
        """Return the SD of the difference between one more replica and the mean of ours; the SD must be known."""
        return self.sd * math.sqrt(1 + 1 / self.n) * (1 if self.is_log else self._choose_factor(factor))

    def standardise(self, factor: float) -> float:
        """Divide our distance from the paper by the prediction SD."""
        distance = (
            self.compute_log_ratio(factor) if self.is_log else self._choose_factor(factor) * self.ours - self.paper
        )
        return distance / self.compute_prediction_sd(factor)

    def compute_log_likelihood(self, factor: float) -> float:
        """Return the log density of the paper's number, on the log scale whatever the metric, if it varies as ours."""
        from scipy import stats  # takes longer than most commands, so not above

        scale = self.compute_prediction_sd(factor) / (1 if self.is_log else self.paper)
        return float(stats.t.logpdf(self.standardise(factor), self.df)) - math.log(scale)

    def _choose_factor(self, factor: float) -> float:
        return factor if self.has_doubtful_unit else 1.0


@dataclass(frozen=True)
class Distance:
    """How far a reading is from the paper, over `rows` of its numbers.

    Attributes:
        level: Mean of the gaps, in %.
        effect: Mean distance of the differences of any two rows of one metric, in percentage points; None for one row.
        chosen_effect: That of the chosen setting on the same rows.
        likelihood: Mean log likelihood of the paper's numbers, by Student's t with the SD between seeds; None without
            an SD.
        chosen_likelihood: That of the chosen setting on the same rows.
        chosen: The level of the chosen setting on the same rows.
        gaps: The distance from the paper's number in % of it, row by row.
        covered: How many of the paper's numbers lie where one more replica of ours would, with a probability of 95 %
            (Patil, Peng and Leek, "What should researchers expect when they replicate studies?", 2016).
        predicted: How many have such an interval: an SD is known.
        factor: What our numbers are multiplied by where the paper's unit is in doubt; 1 without such numbers.
    """

    reading: str
    rows: int
    seeds: int
    level: float
    effect: float | None
    chosen_effect: float | None
    likelihood: float | None
    chosen_likelihood: float | None
    chosen: float
    gaps: Mapping[Term, float]
    covered: int
    predicted: int
    factor: float = 1.0

    @property
    def median(self) -> float:
        """Return the median of the gaps, in %."""
        return statistics.median(self.gaps.values())

    @property
    def farthest(self) -> Term:
        """Return the row with the largest gap."""
        return max(self.gaps, key=self.gaps.__getitem__)


def rank_readings(paper: Paper, runs: Mapping[str, Runs]) -> list[Distance]:
    """Rank every reading that was run by the distance of its levels; readings with one row come last.

    A reading with too few replicas for an SD takes that of the chosen setting.
    """
    chosen = {row.term: row for row in _list_rows(runs, paper, {})}
    ranked = [_measure_distance(CHOSEN, list(chosen.values()), chosen)] if chosen else []
    for assumption, alternative, choice in paper.list_choices():
        suffix = f"{assumption}={alternative}"
        variants = {
            e: variant for e in choice.experiments if (variant := runs.get(f"{e}@{suffix}")) and variant.finished
        }
        rows = _list_rows(runs, paper, variants)
        if rows := [row for row in rows if row.term in chosen and row.term.experiment in variants]:
            ranked.append(_measure_distance(suffix, rows, chosen))
    return sorted(ranked, key=lambda one: (one.rows < MIN_ROWS, one.level))


def _list_rows(runs: Mapping[str, Runs], paper: Paper, variants: Mapping[str, Runs]) -> Iterable[Row]:
    """Yield every positive number that the paper prints for a trained experiment with a number of ours."""
    table = Table(runs)
    units = [claim for claim in paper.claims.values() if claim.unit]
    doubtful = {(name, claim.metric) for claim in units for name in claim.unit.experiments}
    for name, entry in paper.experiments.items():
        experiment = variants.get(name, runs.get(name))
        if experiment is None or not experiment.learns:
            continue
        for quantity in dict.fromkeys((r.metric, r.split) for r in entry.reported):
            paper_value = experiment.get_reported_in_our_unit(quantity)
            values = list(experiment.combine([(1.0, quantity)]).values())
            is_log = is_ratio_scale(quantity[0])
            if not paper_value or not values or experiment.is_exact([quantity]):
                continue
            if min(paper_value, min(values) if is_log else add_in_order(values)) <= 0:
                continue
            term = Term(name, quantity)
            own_table = table.replace_by_variants({name: experiment})
            known = estimate_replica_sd(term, own_table) or estimate_replica_sd(term, table)
            mean, unknown = compute_mean(values, is_log), (None, None)
            is_doubtful = (name, quantity[0]) in doubtful
            yield Row(term, mean, paper_value, len(values), is_log, *(known or unknown), is_doubtful)


def _measure_distance(name: str, rows: Sequence[Row], chosen: Mapping[Term, Row]) -> Distance:
    factor = _fit_factor(rows)
    same = [chosen[row.term] for row in rows]
    chosen_factor = _fit_factor(same)
    known = [(row, as_chosen) for row, as_chosen in zip(rows, same, strict=True) if row.sd and as_chosen.sd]
    gaps = {row.term: row.compute_gap(factor) for row in rows}
    return Distance(
        name,
        len(rows),
        sum(row.n for row in rows),
        statistics.mean(gaps.values()),
        _compute_effect_distance(rows),
        _compute_effect_distance(same),
        statistics.mean(row.compute_log_likelihood(factor) for row, _ in known) if known else None,
        statistics.mean(row.compute_log_likelihood(chosen_factor) for _, row in known) if known else None,
        statistics.mean(row.compute_gap(chosen_factor) for row in same),
        gaps,
        _count_covered(rows, factor),
        sum(bool(row.sd) for row in rows),
        factor,
    )


def _compute_effect_distance(rows: Sequence[Row]) -> float | None:
    """Return the mean distance of the differences of any two rows of one metric, in percentage points."""
    factor = _fit_factor(rows)
    logs = {row.term: row.compute_log_ratio(factor) for row in rows}
    pairs = [abs(logs[a.term] - logs[b.term]) for a, b in combinations(rows, 2) if a.term.quantity == b.term.quantity]
    return 100 * statistics.mean(pairs) if pairs else None


def _count_covered(rows: Sequence[Row], factor: float) -> int:
    """Count the paper's numbers in the 95 % prediction interval of one more replica of ours."""
    from scipy import stats

    return sum(abs(row.standardise(factor)) <= stats.t.ppf(0.975, row.df) for row in rows if row.sd)


def _fit_factor(rows: Sequence[Row]) -> float:
    """Return the factor that brings ours nearest to the paper's numbers whose unit is in doubt; 1 without any."""
    doubtful = [row for row in rows if row.has_doubtful_unit]
    return math.exp(statistics.mean(-row.compute_log_ratio(1.0) for row in doubtful)) if doubtful else 1.0
