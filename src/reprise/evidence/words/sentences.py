"""A decision as a short sentence: the one place where numbers become words. Phrases are data."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reprise.evidence.verdicts import AGREES, DISAGREES, JUDGED, LEVEL, OPEN, VOID, Decision
from reprise.evidence.verdicts.kinds import share_of_tolerance
from reprise.evidence.words.forms import digits, listed, number, per_cent_lower, percent, plural, unit_words
from reprise.evidence.words.names import name_of


def answer(verdict: str, budget: str = "full") -> str:
    """ "agrees", "at a reduced budget: agrees", "not run"."""
    said = "void: did not learn" if verdict == VOID else verdict
    return f"at a reduced budget: {said}" if budget == "reduced" and verdict in JUDGED else said


def reading_line(summary: Mapping[str, Any]) -> str:
    """ "holds under 5 of 6 readings; not under learning-rate=larger"; "" of the reading as chosen alone.

    "points the claim's way under 2 of 2 readings" where not all of them decide it.
    """
    if summary["of"] < 2:
        return ""
    how = "holds" if summary["decided"] else "points the claim's way"
    line = f"{how} under {summary['holds']} of {summary['of']} readings"
    against = ([] if summary["chosen"] else ["the one as chosen"]) + summary["not"]
    return f"{line}; not under {listed(against)}" if summary["holds"] and against else line


MARGIN_KINDS = {"non-inferiority", "equivalence"}
_TO_MARGIN = {AGREES: "within the margin", DISAGREES: "beyond the margin", OPEN: "margin undecided"}


def size_words(claim: Mapping[str, Any], part: Mapping[str, Any] | None = None) -> str:
    """The size of a claim of claims.json, or of one of its parts: "smaller"; of one with a margin where it lies to it.

    "within the margin; even better": of one-sided comparisons, whose intervals all lie on the claim's side of no
    difference. "" of a claim that ranks decide.
    """
    if is_ranked(claim):
        return ""
    if claim["kind"] not in MARGIN_KINDS:
        return (part or claim).get("size") or ""
    parts = [one for one in ([part] if part else claim["parts"]) if one["form"] == "means"]
    verdict = claim["verdict"]
    if all(one["interval"] is None for one in parts):
        return ""
    if part:
        tail = part["tail"]
        verdict = AGREES if part["p"] <= tail else DISAGREES if part["p"] >= 1 - tail else OPEN
    if verdict not in _TO_MARGIN:
        return ""
    one_sided = all(one["level"] == LEVEL for one in parts)
    better = verdict == AGREES and one_sided and all(min(one["interval"] or [0]) > 0 for one in parts)
    return _TO_MARGIN[verdict] + ("; even better" if better else "")


def is_ranked(claim: Mapping[str, Any]) -> bool:
    """Whether a rank test decides a claim of claims.json."""
    return any(part["form"] == "ranks" for part in claim["parts"])


def sentence(decision: Decision) -> str:
    """What was found of a claim: the comparison that says most, and what belongs beside it."""
    said = [NOTES[name](**facts) for name, facts in decision.notes]
    return " ".join(filter(None, [_parts(decision), *said]))


def _parts(decision: Decision) -> str:
    """Of several comparisons how many are established, and the least sure one, or the one that refutes."""
    parts = [part for part in decision.parts if part["form"] != "unit" and not part.get("corrected")]
    if not parts:
        return ""
    if parts[0]["form"] == "error":
        failed = [part for part in parts if not part["held"]]
        worst = max(failed or parts, key=share_of_tolerance)
        count = f"{len(failed)} of {len(parts)} errors fail, the worst: " if failed and len(parts) > 1 else ""
        count = f"Largest of {len(parts)} errors: " if not failed and len(parts) > 1 else count
        return f"{count}{worst['label']}, {_error(worst)}."
    if parts[0]["form"] == "share":
        return f"Reached by {listed([_share(part) for part in parts])}; {_asked_share(parts[0])}."
    parts = parts[:1] if parts[0]["form"] == "ranks" else parts
    least = least_sure(parts)
    said = _ranks(least) if least["form"] == "ranks" else _means(least)
    if len(parts) == 1:
        return f"{said}."
    void = sum(part["void"] for part in parts)
    counted = f"{established(parts)} of {len(parts)} comparisons established{f', {void} void' if void else ''}"
    return f"{counted}; least sure: {said}."


def least_sure(parts: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The comparison that a claim hangs on: that with the largest p."""
    return max(parts, key=lambda part: (part["p"], -(part.get("toward") or 0.0)))


def established(parts: Iterable[Mapping[str, Any]]) -> int:
    """How many of a claim's comparisons are established, each by itself."""
    return sum(part["p"] <= part["tail"] and not part["void"] for part in parts)


def _error(row: Mapping[str, Any]) -> str:
    return f"{number(row['estimate'])} (tolerance {number(row['tolerance'])})"


def _share(row: Mapping[str, Any]) -> str:
    low, high = map(percent, row["interval"])
    return f"{row['reached']} of {sum(row['n'].values())} ({row['label']}; {low} to {high})"


def _asked_share(row: Mapping[str, Any]) -> str:
    if row["at_least"] is not None:
        return f"more than {percent(row['at_least'])} asked"
    return f"fewer than {percent(row['at_most'])} asked" if row["at_most"] is not None else "one of each asked"


def _ranks(row: Mapping[str, Any]) -> str:
    above, together = row["replicas"]
    said = f"{row['above']} of {above} replicas of {row['label']} lie above all {together} of {listed(row['others'])}"
    return f"{said} (p = {row['p']:.2g})"


def _means(row: Mapping[str, Any]) -> str:
    """Subject, difference with its interval, the paper's, and how many replicas: one form for all comparisons."""
    said = filter(None, (_difference(row), _paper(row), _replicas(row)))
    between = _BETWEEN.get(row["form"]) or f", {_side(row['estimate'])} by "
    return f"{_subject(row)}{between if len(row['terms']) > 1 else '; '}{'; '.join(said)}"


_BETWEEN = {"gap": ", by ", "trend": ", on the claim's side: "}
"""What stands between a subject and its difference, which is above 0 on the claim's side."""


def _side(difference: float) -> str:
    return "higher" if difference < 0 else "lower"


def _subject(row: Mapping[str, Any]) -> str:
    """What is compared, with its means: "Test perplexity, s-RNN 139.7 against RNTN 131.5"."""
    terms, unit, decimals = row["terms"], unit_words(row["unit"]), _decimals(row, level=True)
    names = [name_of(term["metric"], term["split"]) for term in terms]
    titles = [term["title"] for term in terms]
    if len(set(names)) == 1:
        head, items = names[0], titles
    elif len(set(titles)) == 1:
        head, items = titles[0], names
    else:
        head, items = "", [f"{title}, {name}" for title, name in zip(titles, names, strict=True)]
    head = f"{head[0].upper()}{head[1:]}, " if head else ""
    if row["form"] == "trend":
        return f"{head}slope from {items[0]} to {items[-1]}"
    shown = [f"{item} {number(t['mean'], decimals)}{unit}" for item, t in zip(items, terms, strict=True)]
    if row["form"] == "gap":
        half = len(terms) // 2
        than = "less than" if row["estimate"] < 0 else "more than"
        return f"{head}{_against(shown[:half], terms[:half])}, {than} {_against(shown[half:], terms[:half])}"
    return f"{head}{_against(shown, terms)}"


def _against(shown: Sequence[str], terms: Sequence[Mapping[str, Any]]) -> str:
    """The lower against the higher; of several on a side, whose mean is compared, the first and the last."""
    sides = []
    for up in (False, True):
        some = [text for text, term in zip(shown, terms, strict=True) if (term["weight"] > 0) == up]
        if some:
            sides.append(some[0] if len(some) == 1 else f"the mean of {len(some)} from {some[0]} to {some[-1]}")
    return " against ".join(sides)


def _difference(row: Mapping[str, Any]) -> str:
    terms = row["terms"]
    if len(terms) > 1:
        return effect(
            row["estimate"], row["interval"], row, turned=row["form"] in ("means", "gap") and row["estimate"] < 0
        )
    asked = f"{'at least' if terms[0]['weight'] > 0 else 'at most'} {number(row['bound'])} asked"
    ends = _ends(row)
    return f"{percent(row['level'])} interval {ends[0]} to {ends[1]}; {asked}" if ends else asked


def _ends(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """The interval of a mean that is held to a bound, a share's cut at 0 and 1; None of what is counted."""
    if row["interval"] is None or row["method"] == "exact":
        return None
    low, high = sorted(row["terms"][0]["weight"] * end + row["bound"] for end in row["interval"])
    if row["unit"] == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    return number(low, _decimals(row)), number(high, _decimals(row))


def level(row: Mapping[str, Any]) -> str:
    """ "0.962 [0.943, 0.981]": a mean that is held to a bound, with its interval."""
    ends = _ends(row)
    shown = f"{number(row['terms'][0]['mean'], _decimals(row))}{unit_words(row['unit'])}"
    return f"{shown} [{', '.join(ends)}]" if ends else shown


def level_paper(row: Mapping[str, Any]) -> str:
    """The paper's number for it."""
    return number((row["paper"] + row["bound"] * row["terms"][0]["weight"]) * row["terms"][0]["weight"])


def _paper(row: Mapping[str, Any]) -> str:
    if row["paper_here"] is None:
        return ""
    if len(row["terms"]) > 1:
        paper, plainly = row["paper_here"], row["form"] == "means"
        other = plainly and (paper < 0) != (row["estimate"] < 0)
        shown = effect(paper, None, row, turned=paper < 0 if plainly else row["form"] == "gap" and row["estimate"] < 0)
        return f"paper {f'{_side(paper)} by ' if other else ''}{shown}"
    return f"paper {level_paper(row)}"


def _replicas(row: Mapping[str, Any]) -> str:
    if row["method"] == "exact":
        return "counted"
    counts = list(row["n"].values())
    noun = "fold" if row["method"] == "folds" else "seed"
    borrowed = "variance borrowed from its family" if is_borrowed(row) else ""
    if row["method"] == "folds" or len(set(counts)) == 1:
        each = " each" if len(counts) > 1 and noun == "seed" else ""
        return "; ".join(filter(None, (f"{plural(counts[0], noun)}{each}", borrowed)))
    return f"{min(counts)} to {max(counts)} seeds{borrowed and f'; of a single one: {borrowed}'}"


def is_borrowed(row: Mapping[str, Any]) -> bool:
    """Whether a comparison has a single seed or fold of a model, whose variance is that of its family."""
    return bool(row.get("borrowed")) and min(row["n"].values()) == 1


def effect(value: float, interval: Sequence[float] | None, row: Mapping[str, Any], turned: bool = False) -> str:
    """ "9.6 % [3.2, 15.5]": above 0 on the claim's side; of logarithms in per cent of what it calls the higher.

    `turned`: above 0 on the other side.
    """
    if row["scale"] == "log":
        value, interval = per_cent_lower(value), interval and [per_cent_lower(b) for b in interval]
        width = interval[1] - interval[0] if interval else abs(value)
        decimals = max(1, min(3, (digits(width / 4) or 1) if width else 1))
        unit = " % per factor e" if row["form"] == "trend" else " %"
    else:
        decimals, unit = _decimals(row), ""
    if turned:
        value, interval = -value, interval and [-end for end in reversed(interval)]
    text = f"{number(value, decimals)}{unit}"
    if not interval or not row["error"]:
        return text
    other = f" ({percent(row['level'])} CI)" if row.get("level", LEVEL) != LEVEL else ""
    return f"{text} [{', '.join(number(b, decimals) for b in interval)}]{other}"


def _decimals(row: Mapping[str, Any], level: bool = False) -> int | None:
    """Those of the error, or of the difference where there is none; of what is counted as many as any number needs."""
    if row["method"] == "exact":
        return None
    error = row["estimate"] if row["error"] is None else row["error"]
    if row["scale"] == "log" and level:
        error *= row["terms"][0]["mean"]
    return digits(error)


def _rise(end: str, lowest: str, by: float, interval: Sequence[float], scale: str) -> str:
    row = {"form": "gap", "scale": scale, "method": "seeds", "estimate": by, "error": 1.0}
    return f"Against the sentence, {lowest}, the lowest, lies {effect(by, interval, row)} below {end}."


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


_all = "; ".join
NOTES: dict[str, Callable[..., str]] = {
    "nothing": lambda: "There is nothing to compare.",
    "reason": lambda why: why,
    "unavailable": lambda why: why,
    "not-at-tier": lambda which: f"Not run at this tier: {_all(which)}.",
    "not-trained": lambda which: f"Not trained yet: {_all(which)}.",
    "not-run": lambda which: f"Not run yet: {_all(which)}.",
    "diverged": lambda which: f"Diverged, without a number: {_all(which)}.",
    "lacking": lambda which: f"Finished without the metric: {_all(which)}.",
    "unknown": lambda which: (
        f"One replica shows no SD: {_all(which) if len(which) < 4 else plural(len(which), 'experiment')}."
    ),
    "unequal": lambda p: f"Models of the family vary unequally from fold to fold (Bartlett's p = {p:.2g}).",
    "unlearned": lambda which, why: f"Did not learn ({why}), so that nothing counts beside it: {_all(which)}.",
    "corrected": lambda **row: f"Corrected ({row['label']}) it holds: {_error(row)}.",
    "rise": _rise,
    "lowest": lambda which: f"Lowest in every sweep: {_all(which)}.",
    "best": lambda which: f"No place is lowest in every sweep; together the best: {_all(which)}.",
    "unit": _unit,
    "beats": _beats,
}
"""What is said of each note of a decision."""
