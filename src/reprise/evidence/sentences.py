"""What a comparison found, as a sentence: our numbers, the interval, the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from reprise.evidence.contrasts import Term
from reprise.evidence.measure import Compared
from reprise.evidence.runs import Runs
from reprise.evidence.wording import digits, interval, listed, margin_words, metric_name, number, plural, unit_words

LEVELS = {"equivalence": 0.9}
"""Levels of the intervals that are shown; 0.95 otherwise. Two one-sided tests at 5 % are a 90 % interval."""


_AS_SAID = {1: (0,), 2: (1, 0), 4: (1, 0, 3, 2)}
"""In which order a sentence names the terms of a statement: of every difference the second, then the first."""


def level_of(kind: str) -> float:
    return LEVELS.get(kind, 0.95)


def said(part: Compared, runs: Mapping[str, Runs], kind: str) -> str:
    """One sentence on one part of a claim, and one on the paper's number where it has one."""
    form = {1: _level, 2: _difference, 4: _gap}[len(part.means)]
    return form(part, runs, kind)


def diverged(experiments: Iterable[Runs], how: str) -> str:
    """ " Diverged, without a number: 1 of 3 of s-RNN."; "" where all replicas ended."""
    lost = [f"{runs.diverged} of {len(runs.replicas)} of {runs.title}" for runs in experiments if runs.diverged]
    return f" Diverged, {how}: {listed(lost)}." if lost else ""


def lacking(experiments: Iterable[tuple[Runs, int]]) -> str:
    """ " Finished without the metric: 1 of 3 of s-RNN."; "" where none did. Each stands with how many did."""
    lost = [f"{count} of {len(runs.finished)} of {runs.title}" for runs, count in experiments]
    return f" Finished without the metric: {listed(lost)}." if lost else ""


def label(term: Term, runs: Mapping[str, Runs]) -> str:
    """ "s-RNN, H = 100 (test perplexity)"."""
    return f"{runs[term.experiment].title} ({metric_name(term.quantity)})"


def _difference(part: Compared, runs: Mapping[str, Runs], kind: str) -> str:
    (_, high), (_, low) = part.statement.plain.weights
    found, decimals = part.plain.estimate.value, _decimals(part)
    word, sign = ("lower", 1) if found >= 0 else ("higher", -1)
    within = (-1.0, 1.0) if _unit_of(low, runs) == _unit_of(high, runs) == "share" else None
    where = "" if low.quantity == high.quantity else f", {metric_name(high.quantity)}"
    text = f"{_named(low)} {number(part.means[1], decimals)}{_unit(low, runs)} "
    text += f"({runs[low.experiment].title}) against "
    text += f"{number(part.means[0], decimals)} ({runs[high.experiment].title}{where}): "
    text += f"{number(abs(found), decimals)} {word} ({_precision(part, kind, sign, within=within)})"
    if part.statement.margin:
        text += f", {margin_words(kind, part.statement.margin)}"
    if part.paper is None:
        return f"{text}."
    word = "lower" if part.paper >= 0 else "higher"
    return f"{text}. {_source(part, runs)} {number(abs(part.paper))} {word}{_printed_unit(part, runs)}."


def _gap(part: Compared, runs: Mapping[str, Runs], kind: str) -> str:
    terms = [term for _, term in part.statement.plain.weights]
    one_experiment = len({term.experiment for term in terms}) == 1
    names = [metric_name(t.quantity) if one_experiment else runs[t.experiment].title for t in terms]
    about = runs[terms[0].experiment].title if one_experiment else _first_letter_up(metric_name(terms[0].quantity))
    decimals = _decimals(part)
    first, second = part.means[0] - part.means[1], part.means[2] - part.means[3]
    found = part.plain.estimate.value
    text = f"{about}: {number(first, decimals)} between {names[1]} and {names[0]} against "
    text += f"{number(second, decimals)} between {names[3]} and {names[2]}, "
    text += f"{number(abs(found), decimals)}{_unit(terms[0], runs)} {'more' if found >= 0 else 'less'} "
    text += f"({_precision(part, kind, 1 if found >= 0 else -1)})."
    if part.paper is None:
        return text
    word = "more" if part.paper >= 0 else "less"
    return f"{text} {_source(part, runs)} {number(abs(part.paper))} {word}{_printed_unit(part, runs)}."


def _level(part: Compared, runs: Mapping[str, Runs], kind: str) -> str:
    ((sign, term),), shift = part.statement.plain.weights, part.statement.plain.offset
    text = f"{_named(term)} {number(part.means[0], _decimals(part, level=True))}"
    within = (0.0, 1.0) if _unit_of(term, runs) == "share" else None
    if metric_name(term.quantity).startswith("ln P"):
        within = (-math.inf, 0.0)
    text += f"{_unit(term, runs)} ({runs[term.experiment].title}; {_precision(part, kind, int(sign), shift, within)}), "
    words = "exactly" if len(part.tests) > 1 else "at least" if sign > 0 else "at most"
    text += f"{words} {number(-sign * shift)} asked."
    if part.paper is None:
        return text
    return f"{text} {_source(part, runs)} {number((part.paper - shift) * sign)}{_printed_unit(part, runs)}."


def _named(term: Term) -> str:
    """The name of the number that comes next: "Test perplexity", "Share of spaces in sampled texts at step 250:"."""
    name = _first_letter_up(metric_name(term.quantity))
    return f"{name}:" if name[-1].isdigit() else name


def _unit(term: Term, runs: Mapping[str, Runs]) -> str:
    return unit_words(_unit_of(term, runs))


def _unit_of(term: Term, runs: Mapping[str, Runs]) -> str | None:
    return runs[term.experiment].unit(term.quantity)


def _source(part: Compared, runs: Mapping[str, Runs]) -> str:
    """Where the number comes from that is set beside ours: not every one is printed in the paper itself."""
    terms = (term for _, term in part.statement.plain.weights)
    first, *others = {runs[term.experiment].reported_origin(term.quantity) for term in terms}
    if first.startswith("ours: ") and not others:
        return f"Of the original, {first.removeprefix('ours: ')}:"
    places = {"the author's log" if origin.startswith("author's") else "the paper" for origin in (first, *others)}
    return f"In {listed(sorted(places, reverse=True))}"


def _printed_unit(part: Compared, runs: Mapping[str, Runs]) -> str:
    """Which unit the paper states for its numbers, where that is worth saying."""
    terms = (term for _, term in part.statement.plain.weights)
    units = dict.fromkeys(filter(None, (runs[t.experiment].reported_unit(t.quantity) for t in terms)))
    return f", printed as{listed([unit_words(unit) for unit in units])}" if units else ""


def _decimals(part: Compared, level: bool = False) -> int | None:
    """Those of the error, or of the difference where there is none; of what is counted as many as any number needs."""
    estimate = part.plain.estimate
    if part.plain.method == "exact" and not level:
        shown = [number(value) for value in (*part.means, estimate.value)]
        return None if any("e" in text for text in shown) else max(len(text.partition(".")[2]) for text in shown)
    return digits(estimate.value if estimate.error is None else estimate.error)


def _precision(
    part: Compared, kind: str, sign: int = 1, shift: float = 0.0, within: tuple[float, float] | None = None
) -> str:
    """The interval, cut to what there can be, and the replicas behind it."""
    if part.plain.method == "exact":
        return "counted, without chance"
    level, bounds = level_of(kind), part.plain.estimate.interval(level_of(kind))
    if bounds is not None:
        bounds = tuple(sorted(sign * (bound - shift) for bound in bounds))
    if bounds is not None and within is not None:
        bounds = tuple(min(max(bound, within[0]), within[1]) for bound in bounds)
    terms = part.statement.plain.weights
    counts = [part.plain.counts[name] for name in dict.fromkeys(terms[i][1].experiment for i in _AS_SAID[len(terms)])]
    if part.plain.method == "folds":
        text = plural(counts[0], "fold")
    else:
        alike = len(set(counts)) == 1
        text = plural(counts[0], "replica") if alike else f"{listed([str(n) for n in counts])} replicas"
        text += " each" if alike and len(counts) > 1 else ""
    if part.plain.borrowed:
        text += f", deviation {' or '.join(part.plain.lenders)}"
    elif part.plain.estimate.error == 0:
        return f"all alike; {text}"
    return f"{interval(bounds, _decimals(part), level)}; {text}"


def _first_letter_up(text: str) -> str:
    return text[0].upper() + text[1:]
