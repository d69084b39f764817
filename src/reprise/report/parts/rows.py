"""A claim as a row of cells, the same on the page, in README, in Markdown and in the terminal.

`claim_cells` makes the row of a claim, `comparison_cells` that of each of its comparisons. A difference is shown as
"146.7 → 131.2 (−10.6 %)": from the worse value to the better one if the claim holds, and the change. Losses and
perplexities fall along the arrow; accuracies, shares and scores rise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    Share,
    Term,
    Trend,
    Unit,
)
from reprise.evidence.verdicts import AGREES, ANSWERS, JUDGED, LEVEL, NOT_JUDGED, NOT_RUN
from reprise.report.parts.names import name_of
from reprise.report.parts.rounding import NONE, digits, interval, number, percent, significant

ANSWER_WORDS = {answer: answer for answer in ANSWERS} | {NOT_JUDGED: "not judged (the model did not learn)"}
HEADS = ("Claim", "What we compare", "Paper", "Ours [95 % CI]", "Runs", "Answer")
"""The heads of the cells of a row."""
MARKS = {
    "a → b": "from the worse to the better value if the claim holds. In brackets: the change, in % for perplexities.",
    "[ ]": "95 % confidence interval of ours, over seeds or folds.",
    "Runs": "seeds or folds of each model. 4 → 1: four before the arrow, one after it.",
    "Weakest": "a claim agrees if all its comparisons hold, such as eight models on two tests. The largest p is shown.",
    "No number": "the document prints none.",
    "–": "a formula, a count or an order: no effect to set beside ours.",
    "*": "the bound, margin or test was set when its numbers were known.",
    "†": "one run of a model; its SD is that of its family, the models of its kind.",
    "Reduced budget": "fewer epochs or folds than the document's, or less or other text.",
    "Welch's test": "each model with its own SD. Our test shares SDs within a family of models.",
    "Size": "our effect beside the paper's. Consistent: the paper's lies in our interval. Mixed: comparisons differ.",
}
"""What the heads and marks of a row mean, for whoever shows rows."""
MARGIN_KINDS = {"non-inferiority", "equivalence"}
"""Kinds of claims that a margin decides."""
UNPRINTED = "no number"
"""Stands where the paper prints no number for what we compare."""
_TWO = 2
_RISING = {"share", "BLEU"}
"""Units whose larger numbers are the better ones."""
_RISING_METRICS = {"accuracy", "bleu", "last_ten_accuracy", "word_length"}


@dataclass(frozen=True)
class Cells:
    """The cells of a row, as texts. `size`: our effect beside the paper's, in one word."""

    claim: str
    compared: str
    paper: str
    ours: str
    n: str
    answer: str
    size: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts below `HEADS`."""
        return self.claim, self.compared, self.paper, self.ours, self.n, self.answer


def claim_cells(key: str, title: str, decision: Decision | None) -> Cells:
    """Make the row of a claim, with the numbers of its weakest comparison.

    Args:
        key: The claim's id, "R1".
        title: What is compared, in at most 60 characters.
        decision: What was found; None where nothing was judged.
    """
    if decision is None:
        return Cells(f"{key} {title}", "", "", "", "", NOT_RUN)
    name = f"{key}{'*' if decision.afterwards else ''} {title}"
    return judged_cells(name, decision, reduced=decision.budget == "reduced", sized=is_sized(decision))


def is_sized(decision: Decision) -> bool:
    """Whether the size of the effect says something: not where a margin decides the claim."""
    return decision.kind not in MARGIN_KINDS


def judged_cells(name: str, judged: Judged, reduced: bool = False, sized: bool = True) -> Cells:
    """Make the row of a claim as chosen, or under an alternative setting of equal rank, by its name."""
    weakest, answer = judged.weakest, ANSWER_WORDS[judged.answer]
    if reduced and judged.answer in JUDGED:
        answer = f"{answer} (reduced budget)"
    if weakest is None or judged.answer not in JUDGED:
        return Cells(name, "", "", "", "", answer)
    cells, parts = comparison_cells(weakest), deciding(judged)
    compared = cells.compared
    if len(parts) > 1:
        held = sum(one.answer == AGREES for one in parts)
        hold = "all hold" if held == len(parts) else "none holds" if not held else f"{held} hold"
        compared = f"{compared} (weakest of {len(parts)} comparisons; {hold})"
    return Cells(name, compared, cells.paper, cells.ours, cells.n, answer, (judged.size or "") if sized else "")


def deciding(judged: Judged) -> list[AnyComparison]:
    """List the comparisons that decide a claim: a rank test alone, and no error of a corrected formula."""
    ranks = [one for one in judged.comparisons if isinstance(one, Ranks)]
    return ranks or [one for one in judged.comparisons if not getattr(one, "corrected", False)]


def rows_of(decision: Decision) -> list[Cells]:
    """Make a row of every comparison of a claim."""
    rows = [comparison_cells(one) for one in decision.comparisons]
    return rows if is_sized(decision) else [replace(row, size="") for row in rows]


def comparison_cells(one: AnyComparison) -> Cells:
    """Make the row of one comparison."""
    paper, ours = paper_cell(one), ours_cell(one)
    size = (one.size or "") if isinstance(one, Estimated) else ""
    return Cells("", compared_cell(one), paper, ours, counts_cell(one), ANSWER_WORDS[one.answer], size)


def counts_cell(one: AnyComparison) -> str:
    """Write how many seeds or folds each model has: "3 seeds"; "4 → 1 seeds" before and after the arrow.

    "†" where the SD of a single one is that of its family. "" of what is counted.
    """
    if one.counts == "exact" or not one.n:
        return ""
    counts = list(one.n.values())
    sides = [counts]
    if min(counts) < max(counts):
        if isinstance(one, Difference):
            sides = [[one.n[term.experiment] for term in side] for side in _along(one.terms)]
        elif isinstance(one, Ranks):
            sides = [[count] for count in one.replicas]
    shown = (" and " if isinstance(one, Ranks) else " → ").join(interval(min(side), max(side)) for side in sides)
    borrowed = isinstance(one, Estimated) and one.borrowed and one.interval and min(counts) == 1
    return f"{shown} {one.counts if max(counts) > 1 else one.counts.removesuffix('s')}{'†' if borrowed else ''}"


def compared_cell(one: AnyComparison) -> str:
    """Write what is compared: "test perplexity: s-RNN, H = 100 → r-RNTN f, H = 100, K = 100"."""
    match one:
        case Level():
            term, bound = one.terms[0], "at least" if one.terms[0].weight > 0 else "at most"
            return f"{_metric(term)}, {bound} {number(one.bound)}: {term.title}"
        case Trend():
            return f"{_metric(one.terms[0])}, slope: {one.terms[0].title} → {one.terms[-1].title}"
        case Curvature():
            return f"{_metric(one.terms[0])}, curvature: {one.terms[0].title} → {one.terms[-1].title}"
        case Gap():
            half = len(one.terms) // 2
            halves = one.terms[:half], one.terms[half:]
            first, second = map(_titles, halves)
            metrics = [list(dict.fromkeys(map(_metric, half))) for half in halves]
            if first == second and list(map(len, metrics)) == [1, 1] and metrics[0] != metrics[1]:
                return f"{first}, difference of: ({metrics[0][0]}) and ({metrics[1][0]})"
            return f"{metrics[0][0]}, difference of: ({first}) and ({second})"
        case Difference():
            same = len({term.title for term in one.terms}) == 1
            if same:
                return f"{one.terms[0].title}: {' → '.join(map(_metric, _ordered(one)))}"
            return f"{_metric(one.terms[0])}: {_titles(one.terms)}"
        case Ranks():
            return f"{one.label} above {one.other}, by rank"
        case Error(corrected=True):
            return f"{one.label}, corrected formula"
    return one.label


def ours_cell(one: AnyComparison) -> str:
    """Write our numbers and the change between them with its interval."""
    match one:
        case Level():
            value = number(one.terms[0].mean, _decimals(one))
            ends = _level_ends(one)
            return f"{value} [{', '.join(ends)}]" if ends else value
        case Estimated():
            change = _change(one.estimate, one, one.interval)
            sides = _sides(one, [term.mean for term in one.terms])
            level = "" if one.level == LEVEL or one.interval is None else f", {percent(one.level)} CI"
            return f"{sides} ({change}{level})" if sides else f"{change}{level}"
        case Share():
            low, high = (f"{100 * end:.0f}" for end in one.interval)
            return f"{one.reached} of {sum(one.n.values())} [{low}, {high} %]"
        case Ranks():
            p = "too few for a test" if one.p is None else f"p = {significant(one.p, 2)}"
            return f"{one.above} of {one.replicas[0]} above all {one.replicas[1]} ({p})"
        case Error():
            return f"error {significant(one.estimate, 2)} (tolerance {significant(one.tolerance, 2)})"
    return significant(one.estimate, 4)


def paper_cell(one: AnyComparison) -> str:
    """Write the paper's numbers as printed, and the change between them."""
    match one:
        case Level():
            value = one.terms[0].paper
            return UNPRINTED if value is None else number(value) + _other_unit(one)
        case Estimated():
            if one.paper_converted is None:
                return _printed_sides(one) or _half_printed(one)
            change = _change(one.paper_converted, one, None)
            sides = _printed_sides(one)
            if _other_unit(one):
                return f"{sides} = {change} {unit_words(one.unit)}".strip()
            return f"{sides} ({change})" if sides else change
        case Unit():
            return significant(one.paper, 4)
    return NONE


def _printed_sides(one: Estimated) -> str:
    papers = [term.paper for term in one.terms]
    return "" if None in papers else _sides(one, papers, printed=True) + _other_unit(one)


def _half_printed(one: Estimated) -> str:
    """Write "146.7 → no number" where the paper prints one of two numbers, "no number" where it prints none."""
    papers = {term: term.paper for term in one.terms}
    if all(paper is None for paper in papers.values()):
        return UNPRINTED
    if not isinstance(one, Difference) or len(papers) != _TWO:
        return NONE
    ends = (UNPRINTED if papers[term] is None else number(papers[term]) for term in _ordered(one))
    return " → ".join(ends) + _other_unit(one)


def _other_unit(one: Estimated) -> str:
    """Write the unit of the paper's number where it is another than ours."""
    return f" {unit_words(one.paper_unit)}" if one.paper_unit not in (None, one.unit) else ""


def unit_words(unit: str | None) -> str:
    """Write the unit of an entropy in words; "" of other metrics, whose names say what they are."""
    return unit.replace("/", " per ") if unit and unit.startswith(("nats", "bits")) else ""


def _metric(term: Term) -> str:
    """Write the metric of a term with its unit: "test cross-entropy (nats per token)"."""
    unit = unit_words(term.unit)
    return f"{name_of(term.metric, term.split)}{f' ({unit})' if unit else ''}"


def _rises(term: Term) -> bool:
    """Whether larger numbers are better."""
    return term.unit in _RISING or term.metric in _RISING_METRICS


def _ordered(one: Difference) -> list[Term]:
    """Order the two terms along the arrow."""
    return sorted(one.terms, key=lambda term: term.weight, reverse=not _rises(one.terms[0]))


def _titles(terms: Sequence[Term]) -> str:
    sides = [list(dict.fromkeys(term.title for term in side)) for side in _along(terms)]
    return " → ".join(_together(side) for side in sides if side)


def _along(terms: Sequence[Term]) -> list[list[Term]]:
    """Part the terms of a difference into those before and those after the arrow."""
    sides = [[term for term in terms if (term.weight > 0) is up] for up in (True, False)]
    return sides[::-1] if any(map(_rises, terms)) else sides


def _together(titles: Sequence[str]) -> str:
    """Name one model, or the mean of several by the first and the last."""
    return titles[0] if len(titles) == 1 else f"mean of {len(titles)} from {titles[0]} to {titles[-1]}"


def _sides(one: Estimated, values: Sequence[float], printed: bool = False) -> str:
    """Write both sides of a difference, each the mean of its terms; "" of slopes and gaps."""
    if not isinstance(one, Difference) or len(one.terms) < 2:
        return ""
    ends = []
    for up in (True, False):
        side = [(abs(t.weight), v) for t, v in zip(one.terms, values, strict=True) if (t.weight > 0) is up]
        total = sum(weight for weight, _ in side)
        if not side or not math.isclose(total, 1.0, rel_tol=1e-6):
            return ""
        if one.scale == "log" and len(side) > 1:
            ends.append(math.exp(sum(weight * math.log(value) for weight, value in side)))
        else:
            ends.append(sum(weight * value for weight, value in side))
    if printed and len(one.terms) == 2:
        shown = [f"{end:.10g}".replace("-", "−") for end in ends]
    else:
        shown = [number(end, _decimals(one, level=True)) for end in ends]
    return " → ".join(reversed(shown) if _rises(one.terms[0]) else shown)


def _change(value: float, one: Estimated, bounds: Sequence[float] | None) -> str:
    """Write the change along the arrow: "−9.6 % [−11.9, −7.3]"; of logarithms in per cent of where it starts."""
    sign = 1 if isinstance(one, Trend | Curvature | Gap) or _rises(one.terms[0]) else -1
    values = [sign * v for v in (value, *(bounds or ()))]
    if one.scale == "log":
        values = [100 * math.expm1(v) for v in values]
        width = abs(values[2] - values[1]) if bounds else abs(values[0])
        decimals = max(1, min(3, (digits(width / 4) or 1) if width else 1))
        unit = " % per factor e" if isinstance(one, Trend) else " % per square" if isinstance(one, Curvature) else " %"
    else:
        decimals, unit = _decimals(one), ""
    estimate, *ends = (_signed(v, decimals) for v in values)
    ends = sorted(zip(values[1:], ends, strict=True))
    shown = f" [{', '.join(text for _, text in ends)}]" if bounds and one.error else ""
    return f"{estimate}{unit}{shown}"


def _signed(value: float, decimals: int | None) -> str:
    text = number(value, decimals)
    if not text.strip("−0."):
        return text.removeprefix("−")
    return f"+{text}" if value > 0 else text


def _level_ends(one: Level) -> list[str]:
    if one.interval is None or one.counts == "exact":
        return []
    low, high = sorted(one.terms[0].weight * end + one.bound for end in one.interval)
    if one.unit == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    return [number(end, _decimals(one)) for end in (low, high)]


def _decimals(one: Estimated, level: bool = False) -> int | None:
    """Count the decimals that two digits of the error need; of what is counted as many as any number needs."""
    if one.counts == "exact":
        return None
    error = one.estimate if one.error is None else one.error
    if one.scale == "log" and level:
        error *= one.terms[0].mean
    return digits(error)
