"""A decision as a short sentence: the one place where numbers become words. Phrases are data."""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace

from reprise.evidence.decisions import (
    Beats,
    Comparison,
    Decision,
    Difference,
    Error,
    Estimated,
    Level,
    Listed,
    Lost,
    Note,
    Ranks,
    Reason,
    Rise,
    Settings,
    Share,
    Term,
    Unequal,
    Unit,
    Units,
    Unlearned,
    Verdict,
    weakest,
)
from reprise.evidence.verdicts import AGREES, DISAGREES, JUDGED, LEVEL, NOT_JUDGED, UNDECIDED
from reprise.evidence.words.forms import digits, listed, number, per_cent_lower, percent, plural, unit_words
from reprise.evidence.words.names import name_of


def answer(answer: str, budget: str = "full") -> str:
    """ "agrees", "at a reduced budget: agrees", "not run"."""
    said = "not judged (the model did not learn)" if answer == NOT_JUDGED else answer
    return f"at a reduced budget: {said}" if budget == "reduced" and answer in JUDGED else said


def answer_words(decision: Decision) -> str:
    """ "agrees, smaller": the answer and the size of the effect."""
    return ", ".join(filter(None, (decision.answer, decision.size)))


def reading_line(settings: Settings | None) -> str:
    """ "holds under 5 of 6 settings; not under learning-rate=larger"; "" of the setting as chosen alone.

    "points the claim's way under 2 of 2 settings" where not all of them decide it.
    """
    if settings is None or settings.of < 2:
        return ""
    how = "holds" if settings.decided else "points the claim's way"
    line = f"{how} under {settings.holds} of {settings.of} settings"
    against = ([] if settings.chosen else ["the one as chosen"]) + [*settings.against]
    return f"{line}; not under {listed(against)}" if settings.holds and against else line


MARGIN_KINDS = {"non-inferiority", "equivalence"}
_TO_MARGIN = {AGREES: "within the margin", DISAGREES: "beyond the margin", UNDECIDED: "margin undecided"}


def size_words(claim: Decision, part: Comparison | None = None) -> str:
    """The size of a claim, or of one of its comparisons: "smaller"; of one with a margin where it lies to it.

    "within the margin; even better": of one-sided comparisons, whose intervals all lie on the claim's side of no
    difference. "" of a claim that ranks decide.
    """
    if is_ranked(claim):
        return ""
    if claim.kind not in MARGIN_KINDS:
        return getattr(part or claim, "size", None) or ""
    parts = [one for one in ([part] if part else claim.comparisons) if isinstance(one, Difference | Level)]
    if all(one.interval is None for one in parts):
        return ""
    answer = claim.answer
    if part:
        answer = AGREES if part.p <= part.tail else DISAGREES if part.p >= 1 - part.tail else UNDECIDED
    if answer not in _TO_MARGIN:
        return ""
    one_sided = all(one.level == LEVEL for one in parts)
    better = answer == AGREES and one_sided and all(min(one.interval or [0]) > 0 for one in parts)
    return _TO_MARGIN[answer] + ("; even better" if better else "")


def is_ranked(claim: Verdict) -> bool:
    """Whether a rank test decides a claim."""
    return any(isinstance(one, Ranks) for one in claim.comparisons)


def sentence(verdict: Verdict) -> str:
    """What was found of a claim: the comparison that says most, and what belongs beside it."""
    return " ".join(filter(None, [_parts(verdict), *map(_noted, verdict.notes)]))


def _parts(verdict: Verdict) -> str:
    """Of several comparisons how many are established, and the weakest one, or the one that refutes."""
    parts = [one for one in verdict.comparisons if not isinstance(one, Unit) and not getattr(one, "corrected", False)]
    if not parts:
        return ""
    if isinstance(parts[0], Error):
        failed = [part for part in parts if not part.held]
        worst = weakest(failed or parts)
        count = f"{len(failed)} of {len(parts)} errors fail, the worst: " if failed and len(parts) > 1 else ""
        count = f"Largest of {len(parts)} errors: " if not failed and len(parts) > 1 else count
        corrected = [one for one in verdict.comparisons if getattr(one, "corrected", False)]
        right = ""
        if failed and corrected and all(one.held for one in corrected):
            right = f" Corrected ({weakest(corrected).label}) it holds: {_error(weakest(corrected))}."
        return f"{count}{worst.label}, {_error(worst)}.{right}"
    if isinstance(parts[0], Share):
        return f"Reached by {listed([_share(part) for part in parts])}; {_asked_share(parts[0])}."
    least = verdict.weakest
    said = _ranks(least) if isinstance(least, Ranks) else _means(least)
    if len(parts) == 1:
        return f"{said}."
    void = sum(part.answer == NOT_JUDGED for part in parts)
    counted = f"{established(parts)} of {len(parts)} comparisons significant{f', {void} not judged' if void else ''}"
    return f"{counted}; weakest: {said}."


def established(parts: Iterable[Comparison]) -> int:
    """How many of a claim's comparisons are significant, each by itself."""
    return sum(part.p is not None and part.p <= part.tail and part.answer != NOT_JUDGED for part in parts)


def _error(row: Error) -> str:
    return f"{number(row.estimate)} (tolerance {number(row.tolerance)})"


def _share(row: Share) -> str:
    low, high = map(percent, row.interval)
    return f"{row.reached} of {sum(row.n.values())} ({row.label}; {low} to {high})"


def _asked_share(row: Share) -> str:
    if row.at_least is not None:
        return f"more than {percent(row.at_least)} asked"
    return f"fewer than {percent(row.at_most)} asked" if row.at_most is not None else "one of each asked"


def _ranks(row: Ranks) -> str:
    above, together = row.replicas
    said = f"{row.above} of {above} replicas of {row.label} lie above all {together} of {row.other}"
    return f"{said} (p = {row.p:.2g})" if row.p is not None else f"{said} (no test can decide)"


def _means(row: Estimated) -> str:
    """Subject, difference with its interval, the paper's, and how many replicas: one form for all comparisons."""
    said = filter(None, (_difference(row), _paper(row), _replicas(row)))
    between = _BETWEEN.get(row.kind) or f", {_side(row.estimate)} by "
    return f"{_subject(row)}{between if len(row.terms) > 1 else '; '}{'; '.join(said)}"


_BETWEEN = {"gap": ", by ", "trend": ", on the claim's side: "}
"""What stands between a subject and its difference, which is above 0 on the claim's side."""


def _side(difference: float) -> str:
    return "higher" if difference < 0 else "lower"


def _subject(row: Estimated) -> str:
    """What is compared, with its means: "Test perplexity, s-RNN 139.7 against RNTN 131.5"."""
    terms, unit, decimals = row.terms, unit_words(row.unit), _decimals(row, level=True)
    names = [name_of(term.metric, term.split) for term in terms]
    titles = [term.title for term in terms]
    if len(set(names)) == 1:
        head, items = names[0], titles
    elif len(set(titles)) == 1:
        head, items = titles[0], names
    else:
        head, items = "", [f"{title}, {name}" for title, name in zip(titles, names, strict=True)]
    head = f"{head[0].upper()}{head[1:]}, " if head else ""
    if row.kind == "trend":
        return f"{head}slope from {items[0]} to {items[-1]}"
    shown = [f"{item} {number(t.mean, decimals)}{unit}" for item, t in zip(items, terms, strict=True)]
    if row.kind == "gap":
        half = len(terms) // 2
        than = "less than" if row.estimate < 0 else "more than"
        return f"{head}{_against(shown[:half], terms[:half])}, {than} {_against(shown[half:], terms[:half])}"
    return f"{head}{_against(shown, terms)}"


def _against(shown: Sequence[str], terms: Sequence[Term]) -> str:
    """The lower against the higher; of several on a side, whose mean is compared, the first and the last."""
    sides = []
    for up in (False, True):
        some = [text for text, term in zip(shown, terms, strict=True) if (term.weight > 0) == up]
        if some:
            sides.append(some[0] if len(some) == 1 else f"the mean of {len(some)} from {some[0]} to {some[-1]}")
    return " against ".join(sides)


def _difference(row: Estimated) -> str:
    terms = row.terms
    if len(terms) > 1:
        return effect(row.estimate, row.interval, row, turned=row.kind in ("difference", "gap") and row.estimate < 0)
    asked = f"{'at least' if terms[0].weight > 0 else 'at most'} {number(row.bound)} asked"
    ends = _ends(row)
    return f"{percent(row.level)} interval {ends[0]} to {ends[1]}; {asked}" if ends else asked


def _ends(row: Estimated) -> tuple[str, str] | None:
    """The interval of a mean that is held to a bound, a share's cut at 0 and 1; None of what is counted."""
    if row.interval is None or row.counts == "exact":
        return None
    low, high = sorted(row.terms[0].weight * end + row.bound for end in row.interval)
    if row.unit == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    return number(low, _decimals(row)), number(high, _decimals(row))


def level(row: Level) -> str:
    """ "0.962 [0.943, 0.981]": a mean that is held to a bound, with its interval."""
    ends = _ends(row)
    shown = f"{number(row.terms[0].mean, _decimals(row))}{unit_words(row.unit)}"
    return f"{shown} [{', '.join(ends)}]" if ends else shown


def level_paper(row: Level) -> str:
    """The paper's number for it."""
    return number((row.paper + row.bound * row.terms[0].weight) * row.terms[0].weight)


def _paper(row: Estimated) -> str:
    if row.paper_here is None:
        return ""
    if len(row.terms) > 1:
        paper, plainly = row.paper_here, row.kind == "difference"
        other = plainly and (paper < 0) != (row.estimate < 0)
        shown = effect(paper, None, row, turned=paper < 0 if plainly else row.kind == "gap" and row.estimate < 0)
        return f"paper {f'{_side(paper)} by ' if other else ''}{shown}"
    return f"paper {level_paper(row)}"


def _replicas(row: Estimated) -> str:
    if row.counts == "exact":
        return "counted"
    counts = list(row.n.values())
    noun = "fold" if row.counts == "folds" else "seed"
    borrowed = "variance borrowed from its family" if is_borrowed(row) else ""
    if row.counts == "folds" or len(set(counts)) == 1:
        each = " each" if len(counts) > 1 and noun == "seed" else ""
        return "; ".join(filter(None, (f"{plural(counts[0], noun)}{each}", borrowed)))
    return f"{min(counts)} to {max(counts)} seeds{borrowed and f'; of a single one: {borrowed}'}"


def is_borrowed(row: Comparison) -> bool:
    """Whether a comparison has a single seed or fold of a model, whose variance is that of its family."""
    return bool(getattr(row, "borrowed", ())) and min(row.n.values()) == 1


def effect(value: float, interval: Sequence[float] | None, row: Estimated, turned: bool = False) -> str:
    """ "9.6 % [3.2, 15.5]": above 0 on the claim's side; of logarithms in per cent of what it calls the higher.

    `turned`: above 0 on the other side.
    """
    if row.scale == "log":
        value, interval = per_cent_lower(value), interval and [per_cent_lower(b) for b in interval]
        width = interval[1] - interval[0] if interval else abs(value)
        decimals = max(1, min(3, (digits(width / 4) or 1) if width else 1))
        unit = " % per factor e" if row.kind == "trend" else " %"
    else:
        decimals, unit = _decimals(row), ""
    if turned:
        value, interval = -value, interval and [-end for end in reversed(interval)]
    text = f"{number(value, decimals)}{unit}"
    if not interval or not row.error:
        return text
    other = f" ({percent(row.level)} CI)" if row.level != LEVEL else ""
    return f"{text} [{', '.join(number(b, decimals) for b in interval)}]{other}"


def _decimals(row: Estimated, level: bool = False) -> int | None:
    """Those of the error, or of the difference where there is none; of what is counted as many as any number needs."""
    if row.counts == "exact":
        return None
    error = row.estimate if row.error is None else row.error
    if row.scale == "log" and level:
        error *= row.terms[0].mean
    return digits(error)


def _rise(note: Rise) -> str:
    row = SimpleNamespace(kind="gap", scale=note.scale, counts="seeds", estimate=note.by, error=1.0, level=LEVEL)
    by = effect(note.by, note.interval, row)
    return f"Against the sentence, {note.lowest}, the lowest, lies {by} below {note.end}."


def _unit(models: int, stated: str, other: str, off: Sequence[float]) -> str:
    """`off`: by what logarithm ours are above the printed numbers, read as the one unit and as the other."""
    ways = [
        f"{percent(abs(math.expm1(x)))} {'higher' if x > 0 else 'lower'} read as {unit.replace('/', ' per ')}"
        for x, unit in zip(off, (stated, other), strict=True)
    ]
    return f"Over {plural(models, 'model')} ours are {', '.join(ways)}."


def _beats(lowest: float, unit: str, beaten: Mapping[str, float]) -> str:
    others = listed([f"{number(value)} of {what}" for what, value in beaten.items()])
    return f"As {unit.replace('/', ' per ')} its {number(lowest)} would beat {others}."


_LISTED = {
    "not-at-tier": "Not run at this tier",
    "not-trained": "Not trained yet",
    "not-run": "Not run yet",
    "unknown": "One replica shows no SD",
    "lowest": "Lowest in every sweep",
    "best": "No place is lowest in every sweep; together the best",
}
_LOST = {"diverged": "Diverged, without a number", "lacking": "Finished without the metric"}


def _noted(note: Note) -> str:
    match note:
        case Reason():
            return note.why
        case Listed():
            many = note.kind == "unknown" and len(note.titles) > 3
            which = plural(len(note.titles), "experiment") if many else "; ".join(note.titles)
            return f"{_LISTED[note.kind]}: {which}."
        case Lost():
            return f"{_LOST[note.kind]}: {note.lost} of {note.of} of {note.title}."
        case Unequal():
            return f"Models of the family vary unequally from fold to fold (Bartlett's p = {note.p:.2g})."
        case Unlearned():
            return f"Did not learn ({note.why}), so that nothing counts beside it: {'; '.join(note.titles)}."
        case Rise():
            return _rise(note)
        case Units():
            return _unit(note.models, note.stated, note.other, note.off)
        case Beats():
            return _beats(note.lowest, note.unit, note.beaten)
    return "There is nothing to compare."
