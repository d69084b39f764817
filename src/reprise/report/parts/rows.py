"""Write a claim as a row of cells: the same on the page, in README, Markdown and the terminal.

`make_claim_cells` makes the row of a claim, `make_comparison_cells` that of one of its comparisons. A difference is
shown as "146.7 → 131.2 (−10.6 %)". If the claim holds, the arrow goes from the worse to the better value; in brackets
stands the change. Losses and perplexities fall along the arrow; accuracies, shares and scores rise.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reprise.evidence.decisions import (
    AnyComparison,
    Curvature,
    Decision,
    Difference,
    Error,
    Estimated,
    Gap,
    Judged,
    Level,
    Ranks,
    Rise,
    Share,
    Term,
    Trend,
    Unit,
)
from reprise.evidence.verdicts import AGREES, ANSWERS, DISAGREES, JUDGED, LEVEL, NOT_JUDGED, NOT_RUN, UNDECIDED
from reprise.report.parts.names import name_measure, name_metric
from reprise.report.parts.rounding import (
    DASH,
    count_decimals,
    format_number,
    format_percent,
    format_range,
    format_signed,
    format_significant,
)
from reprise.report.parts.terms import ANSWER_MEANINGS
from reprise.sums import add_in_order
from reprise.units import is_lower_better

ANSWER_NAMES = {answer: answer for answer in ANSWERS} | {NOT_JUDGED: "not judged (the model did not learn)"}
HEADERS = ("Claim", "What we compare", "Paper", "Ours [95 % CI]", "Runs", "Answer")
"""The column headers of the cells of a row."""
MARKS = {
    "a → b": (
        "from the worse to the better value if the claim holds; with a margin, to the model that is nearly as good. "
        "In brackets: the change, in % for perplexities. Allowed: the largest change at which the claim holds."
    ),
    "[ ]": "95 % confidence interval of ours, over seeds or folds.",
    "Runs": "how many seeds or folds each model has. 4 → 1: four before the arrow, one after it.",
    "Gain": (
        "by how much the loss or perplexity falls. In brackets: the first gain minus the second; for perplexities, how "
        "far the second ratio of lower to higher lies above the first."
    ),
    "Weakest": (
        "of the judged comparisons the one with the largest p-value. A claim agrees if all comparisons hold. A "
        "criterion may add a rule, which must hold too."
    ),
    "Answer": (
        f"agrees, or replicates: {ANSWER_MEANINGS[AGREES]} "
        f"Disagrees, or does not replicate: {ANSWER_MEANINGS[DISAGREES]} "
        f"Undecided: {ANSWER_MEANINGS[UNDECIDED]}"
    ),
    "No number": "the document prints none, or not all that are compared.",
    "–": "a formula, a count or an order; it has no effect size.",
    "*": "we set or changed a part of its test when we knew its numbers.",
    "†": "a single run, which has no SD. Interval and test use that of its family, the models of its kind.",
    "Tier quick": "a test of the pipeline on generated data; no replication.",
    "Reduced budget": (
        "trained at the tier reduced: fewer epochs or folds than at the tier paper, or less or other text."
    ),
    "Welch's test": "each model with its own SD. Our test shares SDs within a family of models.",
    "Own folds alone": (
        "the SD of this comparison's folds. Our test takes that or the family's: the one with more degrees of freedom."
    ),
    "Size": (
        "our effect beside the paper's. Consistent: our interval holds a number that rounds to the paper's. Smaller, "
        "larger: all of our interval is below or above it. Opposite: all of it is on the other side of 0. Mixed: "
        "comparisons differ."
    ),
}
"""The meaning of the headers and marks of a row."""
_SIGNS = {"a → b": "→", "[ ]": r"\[", "Runs": "", "Gain": "minus gain of", "Answer": "", "Size": ""}
_SIGNS |= {"–": "^–$", "*": r"^\S+\* "}
"""Patterns of what stands in a cell where that is not the mark's own name; "" for headers."""
_SCALES = {Trend: (math.log(2), " per doubling"), Curvature: (math.log(2) ** 2, " per squared doubling")}
"""Of a slope or curvature over log x: the factor for a doubling of x, and its name."""
BUDGETS = {"full": "", "reduced": "reduced budget", "quick": "tier quick"}
"""What is said beside an answer, by the budget of its decision."""
MARGIN_KINDS = {"non-inferiority", "equivalence"}
"""Kinds of claims that a margin decides."""
_WORD = re.compile(r"“[^”]*”|\S+")
"""A word of a name; a quotation is one."""
NO_PRINTED_NUMBER = "no number"
"""Stands where the paper prints no number for a comparison."""


@dataclass(frozen=True)
class Cells:
    """Hold the texts of a row; `size` says in one word how our effect compares with the paper's."""

    claim: str
    compared: str
    paper: str
    ours: str
    n: str
    answer: str
    size: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts below `HEADERS`."""
        return self.claim, self.compared, self.paper, self.ours, self.n, self.answer


def select_marks(texts: Iterable[str]) -> dict[str, str]:
    """Select the marks that stand in the texts of a table, with their meanings."""
    text = "\n".join(texts).lower()
    return {
        mark: meaning
        for mark, meaning in MARKS.items()
        if re.search(_SIGNS.get(mark, re.escape(mark.lower())), text, re.MULTILINE)
    }


def make_claim_cells(key: str, title: str, decision: Decision | None) -> Cells:
    """Make the row of a claim, with the numbers of its weakest comparison.

    Args:
        key: The claim's id, "R1".
        title: What is compared, in at most 60 characters.
        decision: The decision on the claim; None if nothing was judged.
    """
    if decision is None:
        return Cells(f"{key} {title}", "", "", "", "", NOT_RUN)
    name = f"{key}{'*' if decision.afterwards else ''} {title}"
    return _make_setting_cells(name, decision, decision.kind, BUDGETS[decision.budget])


def has_effect_size(decision: Decision) -> bool:
    """Return whether the size of the effect is meaningful: not if a margin decides the claim."""
    return decision.kind not in MARGIN_KINDS


def make_co_primary_rows(decision: Decision, name_setting: Callable[[str], str]) -> list[Cells]:
    """Make the row of a claim under each alternative setting of equal rank.

    Args:
        decision: The decision on the claim.
        name_setting: Names a setting by its suffix.
    """
    count = len(list_deciding_comparisons(decision))
    return [
        _make_setting_cells(name_setting(suffix), judged, decision.kind, of=count)
        for suffix, judged in decision.co_primary.items()
    ]


def _make_setting_cells(name: str, decision: Judged, kind: str | None, budget: str = "", of: int = 0) -> Cells:
    """Make the row of a claim as chosen, or under another setting, which may lack some of `of` comparisons."""
    weakest, answer = decision.weakest, ANSWER_NAMES[decision.answer]
    if budget and decision.answer in JUDGED:
        answer = f"{answer} ({budget})"
    if weakest is None or decision.answer not in JUDGED:
        return Cells(name, "", "", "", "", answer)
    cells, comparisons = make_comparison_cells(weakest, kind), list_deciding_comparisons(decision)
    description = cells.compared
    if len(comparisons) < of:
        description += f" ({len(comparisons)} of {of} comparisons; {_count_held(comparisons)})"
    elif len(comparisons) > 1:
        rise = "; the sweep rises at its end" if any(isinstance(note, Rise) for note in decision.notes) else ""
        description += f" (weakest of {len(comparisons)} comparisons; {_count_held(comparisons)}{rise})"
    size = "" if kind in MARGIN_KINDS else decision.size or ""
    return Cells(name, description, cells.paper, cells.ours, cells.n, answer, size)


def _count_held(comparisons: Sequence[AnyComparison]) -> str:
    """Write how many of several comparisons hold: "all hold", "none holds", "1 holds", "2 hold, 1 not judged"."""
    count, unjudged = (sum(one.answer == answer for one in comparisons) for answer in (AGREES, NOT_JUDGED))
    if count == len(comparisons):
        return "all hold" if count > 1 else "it holds"
    return f"{count or 'none'} {'hold' if count > 1 else 'holds'}{f', {unjudged} not judged' if unjudged else ''}"


def list_deciding_comparisons(decision: Judged) -> list[AnyComparison]:
    """List the comparisons that decide a claim: a rank test alone, and no error of a corrected formula."""
    ranks = [comparison for comparison in decision.comparisons if isinstance(comparison, Ranks)]
    return ranks or [comparison for comparison in decision.comparisons if not getattr(comparison, "corrected", False)]


def make_comparison_rows(decision: Decision) -> list[Cells]:
    """Make a row of every comparison of a claim."""
    return [make_comparison_cells(comparison, decision.kind) for comparison in decision.comparisons]


def make_comparison_cells(comparison: AnyComparison, kind: str | None = None) -> Cells:
    """Make the row of one comparison; the size of an effect says little if a margin decides the claim."""
    paper, ours = format_paper_result(comparison), format_our_result(comparison)
    if allowed := _format_margin(comparison, kind):
        ours = f"{ours.removesuffix(')')}; allowed {allowed})"
    size = (comparison.size or "") if isinstance(comparison, Estimated) and kind not in MARGIN_KINDS else ""
    return Cells(
        "",
        describe_comparison(comparison),
        paper,
        ours,
        format_replica_counts(comparison),
        ANSWER_NAMES[comparison.answer],
        size,
    )


def format_replica_counts(comparison: AnyComparison) -> str:
    """Write the number of seeds or folds of each model: "3 seeds"; "4 → 1 seeds" before and after the arrow.

    "†" marks a single replica whose SD is that of its family. A metric that is counted gives "".
    """
    if comparison.counts == "exact" or not comparison.n:
        return ""
    counts = list(comparison.n.values())
    sides = [counts]
    if min(counts) < max(counts):
        if isinstance(comparison, Difference):
            sides = [[comparison.n[term.experiment] for term in side] for side in _split_at_arrow(comparison.terms)]
        elif isinstance(comparison, Ranks):
            sides = [[count] for count in comparison.replicas]
    text = (" and " if isinstance(comparison, Ranks) else " → ").join(
        format_range(min(side), max(side)) for side in sides
    )
    has_family_sd = (
        isinstance(comparison, Estimated) and comparison.borrowed and comparison.interval and min(counts) == 1
    )
    noun = comparison.counts if max(counts) > 1 else comparison.counts.removesuffix("s")
    return f"{text} {noun}{'†' if has_family_sd else ''}"


def describe_comparison(comparison: AnyComparison) -> str:
    """Write what is compared: "test perplexity: s-RNN, H = 100 → r-RNTN f, H = 100, K = 100"."""
    match comparison:
        case Level():
            term, bound = comparison.terms[0], "at least" if comparison.terms[0].weight > 0 else "at most"
            return f"{_describe_metric(term)}, {bound} {format_number(comparison.bound)}: {term.title}"
        case Trend() | Curvature():
            shape = "slope" if isinstance(comparison, Trend) else "curvature"
            first, last = comparison.terms[0], comparison.terms[-1]
            return f"{_describe_metric(first)}, {shape}: {first.title} → {last.title}"
        case Gap():
            return f"{_describe_measure(comparison)}: {comparison.label}"
        case Difference():
            has_one_model = len({term.title for term in comparison.terms}) == 1
            if has_one_model:
                worse, better = map(_describe_metric, _sort_along_arrow(comparison))
                return f"{comparison.terms[0].title}: {_join_ends(worse, '→', better)}"
            return f"{_describe_metric(comparison.terms[0])}: {_join_titles(comparison.terms)}"
        case Ranks():
            return f"{comparison.label} above {comparison.other}, by rank"
        case Unit():
            return f"{_add_unit(name_metric(comparison.metric, comparison.split), comparison.unit)}: {comparison.label}"
        case Error(corrected=True):
            return f"{comparison.label}, corrected formula"
    return comparison.label


def format_our_result(comparison: AnyComparison) -> str:
    """Write our numbers and the change between them with its interval."""
    match comparison:
        case Level():
            value = format_number(comparison.terms[0].mean, _choose_decimals(comparison))
            ends = _format_level_interval(comparison)
            return f"{value} [{', '.join(ends)}]" if ends else value
        case Estimated():
            change = _format_change(comparison.estimate, comparison, comparison.interval)
            sides = _format_sides(comparison, [term.mean for term in comparison.terms])
            has_other_level = comparison.level != LEVEL and comparison.interval is not None
            level = f", {format_percent(comparison.level)} CI" if has_other_level else ""
            return f"{sides} ({change}{level})" if sides else f"{change}{level}"
        case Share():
            low, high = (f"{100 * end:.0f}" for end in comparison.interval)
            return f"{comparison.reached} of {sum(comparison.n.values())} [{low}, {high} %]"
        case Ranks():
            p = "too few for a test" if comparison.p is None else f"p = {format_significant(comparison.p, 2)}"
            return f"{comparison.above} of {comparison.replicas[0]} above all {comparison.replicas[1]} ({p})"
        case Error():
            value, bound = (format_significant(x, 2) for x in (comparison.estimate, comparison.tolerance))
            return f"{value} (at most {bound})" if comparison.is_quantity else f"error {value} (tolerance {bound})"
    return format_significant(comparison.estimate, 4)


def _format_margin(comparison: AnyComparison, kind: str | None) -> str:
    """Write the change that a margin allows: "+0.0100" at most, or "±2.0 %"; "" without a margin or a test."""
    if kind not in MARGIN_KINDS or not isinstance(comparison, Difference) or comparison.p is None:
        return ""
    if kind == "equivalence":
        margin = comparison.signed_estimate + abs(comparison.estimate)
        return f"±{_format_change(margin, comparison, None)[1:]}"
    return _format_change(comparison.estimate - comparison.signed_estimate, comparison, None)


def format_paper_result(comparison: AnyComparison) -> str:
    """Write the paper's numbers as printed, and the change between them."""
    match comparison:
        case Level():
            value = comparison.terms[0].paper
            return NO_PRINTED_NUMBER if value is None else format_number(value) + _format_unit_if_different(comparison)
        case Estimated():
            if comparison.paper_converted is None:
                return _format_printed_sides(comparison) or _format_partly_printed(comparison)
            change = _format_change(comparison.paper_converted, comparison, None, _count_paper_decimals(comparison))
            sides = _format_printed_sides(comparison)
            if _format_unit_if_different(comparison):
                return f"{sides} = {change} {spell_unit(comparison.unit)}".strip()
            return f"{sides} ({change})" if sides else change
        case Unit():
            return format_significant(comparison.paper, 4)
    return DASH


def _format_printed_sides(comparison: Estimated) -> str:
    """Write the paper's numbers along the arrow; "" if one is not printed."""
    printed = [term.paper for term in comparison.terms]
    return (
        ""
        if None in printed
        else _format_sides(comparison, printed, is_printed=True) + _format_unit_if_different(comparison)
    )


def _format_partly_printed(comparison: Estimated) -> str:
    """Write "146.7 → no number" if the paper prints one of two numbers, else "no number"."""
    printed = {term: term.paper for term in comparison.terms}
    is_pair = isinstance(comparison, Difference) and len(printed) == 2
    if not is_pair or all(paper is None for paper in printed.values()):
        return NO_PRINTED_NUMBER
    unit = _format_unit_if_different(comparison)
    ends = (
        NO_PRINTED_NUMBER if printed[term] is None else format_number(printed[term]) + unit
        for term in _sort_along_arrow(comparison)
    )
    return " → ".join(ends)


def _format_unit_if_different(comparison: Estimated) -> str:
    """Write the unit of the paper's number if it differs from ours; else ""."""
    return f" {spell_unit(comparison.paper_unit)}" if comparison.paper_unit not in (None, comparison.unit) else ""


def spell_unit(unit: str | None) -> str:
    """Spell out the unit of an entropy; "" for other metrics, whose names say it."""
    return unit.replace("/", " per ") if unit and unit.startswith(("nats", "bits")) else ""


def _describe_metric(term: Term) -> str:
    """Write the metric of a term with its unit: "test cross-entropy (nats per token)"."""
    return _add_unit(name_metric(term.metric, term.split), term.unit)


def _describe_measure(gap: Gap) -> str:
    """Write what both gains are of, with its unit: "test loss (nats per token)" of losses of several bands."""
    names = dict.fromkeys(name_measure(term.metric, term.split) for term in gap.terms)
    return _add_unit(" and ".join(names), gap.unit)


def _add_unit(name: str, unit: str | None) -> str:
    """Write a name with its unit in brackets, if that is one of an entropy."""
    return f"{name} ({spelled})" if (spelled := spell_unit(unit)) else name


def _is_higher_better(term: Term) -> bool:
    """Return whether higher numbers are better."""
    return not is_lower_better(term.metric, term.unit or "")


def _sort_along_arrow(comparison: Difference) -> list[Term]:
    """Sort the two terms of a difference along the arrow."""
    return sorted(comparison.terms, key=lambda term: term.weight, reverse=not _is_higher_better(comparison.terms[0]))


def _join_titles(terms: Sequence[Term]) -> str:
    """Write the titles of the models along the arrow."""
    sides = [list(dict.fromkeys(term.title for term in side)) for side in _split_at_arrow(terms)]
    return " → ".join(_name_models(side) for side in sides if side)


def _split_at_arrow(terms: Sequence[Term]) -> list[list[Term]]:
    """Split the terms of a difference into those before and those after the arrow."""
    sides = [[term for term in terms if (term.weight > 0) is is_positive] for is_positive in (True, False)]
    return sides[::-1] if any(map(_is_higher_better, terms)) else sides


def _name_models(titles: Sequence[str]) -> str:
    """Name one model; of several their mean, by the first and the last: "r-RNTN, K = 10 to 100, mean of 3"."""
    if len(titles) == 1:
        return titles[0]
    return f"{_join_ends(titles[0], 'to', titles[-1])}, mean of {len(titles)}"


def _join_ends(first: str, joint: str, last: str) -> str:
    """Join two names by a word or sign; the words that both begin and end with stand once: "n = 4 → 5"."""
    words, last_words = (_WORD.findall(name) for name in (first, last))
    start = len(os.path.commonprefix([words, last_words]))
    end = len(os.path.commonprefix([words[start:][::-1], last_words[start:][::-1]]))
    if len(words) == start + end or len(last_words) == start + end:  # one name has nothing of its own
        return f"{first} {joint} {last}"
    return " ".join([*words[: len(words) - end], joint, *last_words[start:]])


def _format_sides(comparison: Estimated, values: Sequence[float], is_printed: bool = False) -> str:
    """Write both sides of a difference, each the mean of its terms; both gains of a gap; "" for slopes."""
    if isinstance(comparison, Gap):
        return _format_gains(comparison, values, is_printed)
    if not isinstance(comparison, Difference) or len(comparison.terms) < 2:
        return ""
    means = []
    for is_positive in (True, False):
        side = [
            (abs(term.weight), value)
            for term, value in zip(comparison.terms, values, strict=True)
            if (term.weight > 0) is is_positive
        ]
        total_weight = add_in_order(weight for weight, _ in side)
        if not side or not math.isclose(total_weight, 1.0, rel_tol=1e-6):
            return ""
        if comparison.scale == "log" and len(side) > 1:
            means.append(math.exp(add_in_order(weight * math.log(value) for weight, value in side)))
        else:
            means.append(add_in_order(weight * value for weight, value in side))
    if is_printed and len(comparison.terms) == 2:
        # YAML leaves out zeros at the end: both have the decimals of the longer one, as in the paper's column.
        decimals = max(map(_count_printed_decimals, means))
        texts = [f"{mean:.{decimals}f}".replace("-", "−") for mean in means]
    else:
        texts = [format_number(mean, _choose_decimals(comparison, is_level=True)) for mean in means]
    return " → ".join(reversed(texts) if _is_higher_better(comparison.terms[0]) else texts)


def _format_gains(gap: Gap, values: Sequence[float], is_printed: bool) -> str:
    """Write both gains: "5.05 % and 1.87 %". Those of perplexities are shares of the higher one, as behind an arrow."""
    interval = None if is_printed else gap.interval
    numbers = [math.log(value) for value in values] if gap.scale == "log" else values
    products = [term.weight * number for term, number in zip(gap.terms, numbers, strict=True)]
    middle = len(products) // 2
    gains = math.fsum(products[:middle]), -math.fsum(products[middle:])
    if gap.scale == "log":
        decimals = _choose_percent_decimals([100 * math.expm1(number) for number in interval or [gains[0] - gains[1]]])
        return " and ".join(f"{format_number(-100 * math.expm1(-gain), decimals)} %" for gain in gains)
    decimals = _choose_decimals(gap)
    if is_printed and decimals is not None:
        decimals = min(decimals, max(_count_printed_decimals(value) for value in values))
    return " and ".join(format_number(gain, decimals) for gain in gains)


def _count_printed_decimals(value: float) -> int:
    """Count the decimals of a printed number, without zeros at its end."""
    return len(f"{value:.10g}".partition(".")[2])


def _choose_percent_decimals(values: Sequence[float]) -> int:
    """Count the decimals, 1 to 3, that an interval needs, or a number without an interval; in %."""
    width = max(values) - min(values) if len(values) > 1 else abs(values[0])
    return max(1, min(3, (count_decimals(width / 4) or 1) if width else 1))


def _count_paper_decimals(comparison: Estimated) -> int | None:
    """Count the decimals that the paper's change can have; one more where it is converted to another unit."""
    printed = [term.paper for term in comparison.terms if term.paper is not None]
    return max(map(_count_printed_decimals, printed)) + bool(_format_unit_if_different(comparison)) if printed else None


def _format_change(
    value: float, comparison: Estimated, interval: Sequence[float] | None, most_decimals: int | None = None
) -> str:
    """Write the change along the arrow: "−9.6 % [−11.9, −7.3]"; of logarithms in per cent of its start.

    A difference has at most `most_decimals` decimals.
    """
    is_upward = isinstance(comparison, Curvature | Gap) or _is_higher_better(comparison.terms[0])
    sign = 1 if is_upward and not isinstance(comparison, Trend) else -1  # a trend's estimate is its fall
    factor, per = _SCALES.get(type(comparison), (1.0, ""))
    values = [sign * factor * number for number in (value, *(interval or ()))]
    if comparison.scale == "log":
        unit = f" %{per}"
        values = [100 * math.expm1(number) for number in values]
        decimals = _choose_percent_decimals(values[1:] or values)
    else:
        decimals, unit = _choose_decimals(comparison), per
        if per and comparison.error:
            decimals = count_decimals(factor * comparison.error)
        if None not in (decimals, most_decimals):
            decimals = min(decimals, most_decimals)
    estimate, *ends = (format_signed(number, decimals) for number in values)
    ends = sorted(zip(values[1:], ends, strict=True))
    interval_text = f" [{', '.join(text for _, text in ends)}]" if interval and comparison.error else ""
    return f"{estimate}{unit}{interval_text}"


def _format_level_interval(comparison: Level) -> list[str]:
    """Write the ends of the interval of a level; none if it is counted."""
    if comparison.interval is None or comparison.counts == "exact":
        return []
    low, high = sorted(comparison.terms[0].weight * end + comparison.bound for end in comparison.interval)
    if comparison.unit == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    if comparison.terms[0].metric.endswith("log_probability"):
        high = min(high, 0.0)
    return [format_number(end, _choose_decimals(comparison)) for end in (low, high)]


def _choose_decimals(comparison: Estimated, is_level: bool = False) -> int | None:
    """Count the decimals that two digits of the error need; None for a count, which is shown in full.

    Other numbers without an error are calculated: four digits of the largest are shown.
    """
    error = comparison.estimate if comparison.error is None else comparison.error
    if comparison.counts != "exact" and error:
        return count_decimals(error * comparison.terms[0].mean if comparison.scale == "log" and is_level else error)
    largest = max(abs(term.mean) for term in comparison.terms)
    is_count = isinstance(comparison, Level) or all(term.mean.is_integer() for term in comparison.terms)
    return None if is_count else max(0, 3 - math.floor(math.log10(largest)))
