"""Verdicts where people look at numbers: beside the experiments that they rest on, and under other choices."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from reprise.config.claims import Bound, Claim
from reprise.evidence import readings
from reprise.evidence.contrasts import terms_of
from reprise.evidence.decisions import (
    Alternative,
    AnyComparison,
    CoPrimary,
    Decision,
    Difference,
    Error,
    Estimated,
    Gap,
    Level,
    Ranks,
    Share,
    Trend,
    Unit,
)
from reprise.evidence.verdicts import AGREES, ANSWERS, DISAGREES, JUDGED, NOT_RUN
from reprise.evidence.words.forms import margin_words, number, percent
from reprise.evidence.words.names import name_of
from reprise.evidence.words.sentences import answer as words_of
from reprise.evidence.words.sentences import effect, is_borrowed, level, level_paper
from reprise.records.resolved import FULL
from reprise.report.parts.context import Context, Status
from reprise.report.parts.rounding import NONE, fixed, interval, significant, unit_symbol
from reprise.report.parts.tables import Column, Table
from reprise.report.parts.words import PROTOCOLS, sentence

_UNDER = (
    "Claims of a row under another choice have the verdicts that they come to under it; those as chosen stand in the "
    "table of claims."
)
About = Callable[[Mapping[str, Any]], Collection[str]]
"""The metrics that a row shows, as patterns of "<metric> <split>"; none where no claim can be about it."""


def in_order(context: Context) -> list[tuple[str, Decision]]:
    """What was found on each claim, in the order of the paper's file."""
    return [(key, context.claims[key]) for key in context.paper.claims if key in context.claims]


def in_full_sentence(context: Context, key: str) -> str:
    """ " Full protocol: open.", where that came to another verdict than this tier; else ""."""
    both = (of.get(key) for of in (context.in_full, context.claims))
    there, here = (decision.answer if decision else NOT_RUN for decision in both)
    return f" {PROTOCOLS[FULL]}: {there}." if there in JUDGED and there != here else ""


def of_experiments(context: Context, names: Iterable[str], about: Collection[str], only: Collection[str] = ()) -> str:
    """ "agrees: R1; not run: R4, R20": the claims that rest on experiments or variants; "" without any.

    `about`: patterns of "<metric> <split>" (a point of a curve is "<metric>@<x> <split>"); claims about other metrics
    of the experiments are left out. `only`: these claims alone.
    """
    found: dict[str, dict[str, None]] = {}
    for name in names:
        base, _, suffix = name.partition("@")
        for key, claim in in_order(context):
            judged = claim.alternatives.get(suffix) if suffix else claim
            wanted = judged and base in judged.experiments and (key in only or not only)
            if wanted and _is_about(context.paper.claims[key], base, about):
                found.setdefault(judged.answer, {})[key] = None
    return "; ".join(f"{verdict}: {', '.join(found[verdict])}" for verdict in ANSWERS if verdict in found)


def _is_about(claim: Claim, experiment: str, about: Collection[str]) -> bool:
    """Whether a claim asks for one of these metrics of the experiment; an identity asks for none and is about all."""
    terms = terms_of(claim)
    asked = {" ".join(map(str, term.quantity)) for term in terms if term.experiment == experiment}
    return any(fnmatchcase(quantity, pattern) for quantity in asked for pattern in about) or not (terms or not about)


def beside(context: Context, table: Table, about: About, only: Collection[str] = ()) -> Table:
    """The table with a last column of the claims that a row is about: they rest on its experiment and its metrics.

    A row names one experiment, or has a tuple of several; "<paper>/<experiment>" is one of another paper. `only`: these
    claims alone. The table as it is where no claim is about a row.
    """
    said, under = [], False
    for row in table.rows.to_dict("records"):
        names = row["experiment"] if isinstance(row["experiment"], tuple) else (row["experiment"],)
        there = context.papers.get(names[0].rpartition("/")[0], context)
        said.append(of_experiments(there, [name.rpartition("/")[2] for name in names], about(row), only))
        under |= bool(said[-1]) and any("@" in name for name in names)
    if not any(said):
        return table
    columns = [*table.columns, Column("Claims", lambda row: row["claims"] or NONE, words=True)]
    notes = [*table.notes, _UNDER] if under else table.notes
    return replace(table, columns=columns, rows=table.rows.assign(claims=said), notes=notes)


def was_judged(alternative: Alternative) -> bool:
    """Whether a claim was judged under an alternative, and the same comparisons as chosen beside it."""
    return alternative.holds is not None and {alternative.answer, alternative.before} <= JUDGED


def is_looked_at(alternative: Alternative) -> bool:
    """Whether some of a claim's comparisons are to be judged under an alternative, run or not."""
    return alternative.looked_at > 0


def part_of(alternative: Alternative) -> str:
    """ " (2 of 4 comparisons)", of an alternative under which a part of a claim is looked at; "" where it is all."""
    looked_at, every = alternative.looked_at, alternative.of
    return f" ({looked_at} of {every} comparisons)" if looked_at < every else ""


def turns(entries: Iterable[tuple[str, Alternative]]) -> str:
    """What claims are as chosen and under a choice: "L1: open → agrees; U3: no longer points its way; U2: same side".

    First stand those that it turns, last those that were not run under it yet and those that rest on the assumption,
    but were not to be trained under the alternative ("not looked at"). Claims that the alternative cannot touch, since
    nothing they compare depends on it, have "the same numbers".
    """
    found: dict[tuple[int, str], list[str]] = {}
    for key, entry in entries:
        if not is_looked_at(entry):
            said = 3, "not looked at"
        elif not was_judged(entry):
            said = 2, entry.answer
        elif entry.flips:
            decided = f"{entry.before} → {entry.answer}" if entry.answer in {AGREES, DISAGREES} else ""
            said = 0, (decided or f"{'points' if entry.holds else 'no longer points'} its way") + part_of(entry)
        else:
            said = 1, f"same side{part_of(entry)}" + (" (the same numbers)" if entry.same else "")
        found.setdefault(said, []).append(key)
    return "; ".join(f"{', '.join(found[said])}: {said[1]}" for said in sorted(found, key=lambda said: said[0]))


@dataclass(frozen=True)
class Outcome:
    """One alternative of one assumption, its variants' replicas, and every claim that can be judged under it.

    `suffix` is "schedule=rnnlm". `claims` holds of each its entry under `alternatives` in claims.json. Another choice
    of what is measured, which is taken of the same records, has no variants: `trains` is then false.
    """

    suffix: str
    status: Status
    claims: Mapping[str, Alternative]
    trains: bool = True

    @property
    def judged(self) -> dict[str, Alternative]:
        return {key: entry for key, entry in self.claims.items() if was_judged(entry)}

    @property
    def turned(self) -> dict[str, Alternative]:
        return {key: entry for key, entry in self.judged.items() if entry.flips}

    @property
    def state(self) -> str:
        """ "not trained yet", "trained: no claim turns", "trained: U1: no longer points its way"."""
        if self.trains and not self.status.run:
            return self.status.absence
        trained = f"{self.status.run} of {self.status.wanted} replicas trained" if self.status.missing else "trained"
        said = turns(self.turned.items()) or (f"no claim turns (of {', '.join(self.judged)})" if self.judged else "")
        return f"{trained if self.trains else 'from the same records'}: {said or 'no claim judged'}"


def outcomes(context: Context) -> list[Outcome]:
    """Every alternative of the paper's assumptions, in the order of its file."""
    found = []
    for assumption, alternative, choice in context.paper.choices():
        suffix = f"{assumption}={alternative}"
        status = context.total(f"{name}@{suffix}" for name in choice.experiments)
        claims = {k: c.alternatives[suffix] for k, c in in_order(context) if suffix in c.alternatives}
        found.append(Outcome(suffix, status, claims, trains=not choice.metrics))
    return found


def consequences(context: Context) -> str:
    """For the reader: how many alternatives were run, and which claims hang on a choice."""
    found = outcomes(context)
    run = sum(bool(o.status.run) if o.trains else bool(o.judged) for o in found)
    judged = {key for outcome in found for key in outcome.judged}
    said = [f"{outcome.suffix} ({turns(outcome.turned.items())})" for outcome in found if outcome.turned]
    text = f"Alternatives of our choices with runs: {run} of {len(found)}; claims judged under them: {len(judged)}"
    return f"{text}; claims turn under {'; '.join(said)}." if said else f"{text}; no claim turns."


def reading_table(context: Context) -> tuple[str, list[tuple[str, ...]]] | None:
    """How near each reading is to the paper's numbers: a sentence, and a line a reading below `readings.HEAD`.

    None where only one reading can be compared.
    """
    found = readings.distances(context.paper, context.runs)
    said = readings.sentence(context.paper, context.runs, found)
    return (said, readings.lines(found)) if said else None


def under(reading: str, found: CoPrimary) -> str:
    """ "Under schedule=rnnlm, found afterwards: agrees. …": what a reading of equal rank says; briefly if not run."""
    if found.answer not in JUDGED:
        return f"Other {reading.partition('=')[0]} ({reading}): {found.answer}."
    when = f", found {found.found}" if found.found else ""
    return f"Under {reading}{when}: {words_of(found.answer)}. {found.sentence}"


def comparisons(found: Decision) -> list[dict[str, str]]:
    """Every comparison of a claim as `compared`; where metrics differ, or all else is the same, that stands first."""
    rows = [compared(part) for part in found.comparisons]
    same = Counter(row["what"] for row in rows)
    measured = {part.terms[0].metric for part in found.comparisons if isinstance(part, Estimated)}
    for row, part in zip(rows, found.comparisons, strict=True):
        terms = part.terms if isinstance(part, Estimated) and not isinstance(part, Level) else ()
        if terms and (same[row["what"]] > 1 or len(measured) > 1):
            alike = len({term.title for term in terms}) == 1 < len(terms)
            own = terms[0].title if alike else name_of(terms[0].metric, terms[0].split)
            row["what"] = f"{own}: {row['what']}"
    return rows


def compared(part: AnyComparison) -> dict[str, str]:
    """One comparison of a claim in words: what, the paper's effect, ours with its 95 % interval, on how many replicas.

    Differences are above 0 on the claim's side; those of perplexities are in per cent of what it calls the higher.
    """
    counts = sorted(part.n.values())
    n = interval(counts[0], counts[-1])
    found = {"n": f"{n}†" if is_borrowed(part) else n, "paper": NONE, "what": part.label}
    if isinstance(part, Error) and part.corrected:
        found["what"] = f"corrected: {found['what']}"
    match part:
        case Level():
            (term,) = part.terms
            found |= {"ours": level(part), "paper": NONE if part.paper_here is None else level_paper(part)}
            asked = f"at {'least' if term.weight > 0 else 'most'} {significant(part.bound, 4)}"
            found["what"] = f"{asked}: {name_of(term.metric, term.split)}, {term.title}"
        case Difference() | Gap() | Trend():
            unit = "" if part.scale == "log" else unit_symbol(part.unit or "")
            bounds = part.interval
            bounds = None if bounds is None or bounds[0] == bounds[1] else bounds
            value, between, end = effect(part.estimate, bounds, part).partition(" [")
            found["ours"] = f"{value}{unit}{between}{end}"
            if part.paper_here is not None:
                found["paper"] = f"{effect(part.paper_here, None, part)}{unit}"
            found["what"] = _titles(part)
        case Share():
            low, high = (fixed(100 * end, 0) for end in part.interval)
            found["ours"] = f"{part.reached} of {counts[-1]} [{low} %, {high} %]"
        case Error():
            found["ours"] = f"error {significant(part.estimate, 2)}, at most {significant(part.tolerance, 2)}"
        case Ranks():
            found["what"] = f"{part.label} above {part.other}, by rank"
            found["ours"] = "no test can decide" if part.p is None else f"rank test, p = {significant(part.p, 2)}"
        case Unit():
            found |= {"paper": significant(part.paper, 4), "ours": significant(part.estimate, 4)}
    return found


def _titles(part: Estimated) -> str:
    """ "s-RNN, H = 100 − r-RNTN, K = 100": the terms' titles, those that count as they are before the others."""
    terms = part.terms
    titles = [(term.title, term.weight > 0) for term in terms]
    if len(terms) > 1 and len(set(dict(titles))) == 1:  # one experiment: its metrics differ
        titles = [(name_of(term.metric, term.split), up) for term, (_, up) in zip(terms, titles, strict=True)]
    if isinstance(part, Trend):
        return f"slope from {titles[0][0]} to {titles[-1][0]}"
    if isinstance(part, Gap):
        half = len(titles) // 2
        return " − ".join(f"({_less(some)})" for some in (titles[:half], [(t, not up) for t, up in titles[half:]]))
    return _less(titles)


def _less(titles: Sequence[tuple[str, bool]]) -> str:
    """ "A − B"; of several on a side "mean of r-RNTN f − mean of r-RNTN f_mod, K = 10 to K = 100"."""
    sides = [list(dict.fromkeys(t for t, up in titles if up is side)) for side in (True, False)]
    (more, place), (less, other) = map(_together, sides)
    if place == other:
        return f"{more} − {less}{place}"
    return f"{more}{place} − {less}{other}"


def _together(titles: Sequence[str]) -> tuple[str, str]:
    """What several titles share, as their mean, and where they differ: from the first to the last."""
    if len(titles) < 2:
        return "".join(titles), ""
    split = [title.split(", ") for title in titles]
    shared = [fields[0] for fields in zip(*split, strict=False) if len(set(fields)) == 1]
    first, last = (", ".join(field for field in split[i] if field not in shared) for i in (0, -1))
    return f"mean of {', '.join(shared)}", f", {first} to {last}"


def decided_by(claim: Claim, found: Decision | None) -> str:
    """ "Superiority: at least 0.1 lower asked (ours: a tenth). Paired by fold, …. Criterion: …" of one claim.

    `found`: what claims.json says of it; None where it was not judged.
    """
    kind, asked = claim.kind or ("identity" if claim.checks else ""), []
    if claim.share:
        what = f"of replicas that reach {number(claim.share.reaches)}"
        asked.append(f"one {what}" if claim.share.any else _bound(claim.share, f"share {what}"))
    if claim.level:
        asked.append(_bound(claim.level, "mean"))
    if claim.margin:
        allowed = margin_words("non-inferiority" if claim.optimum else kind, claim.margin)
        asked.append(f"{allowed} ({claim.margin.origin})")
    criterion = f"criterion: {claim.criterion}" if claim.criterion else ""
    late = f"set when its numbers were known: {claim.afterwards}" if claim.afterwards else ""
    said = [f"{kind}: {', '.join(asked)}" if asked else kind, found and found.method, criterion, late]
    for former in claim.was:
        said += [
            f"former criterion: {former.criterion}",
            f"its answer: {former.answer}",
            f"replaced because: {former.why}",
        ]
    return " ".join(sentence(text[0].upper() + text[1:]) for text in said if text)


def _bound(bound: Bound, what: str) -> str:
    shown = percent if "share" in what else number
    if (exact := getattr(bound, "equals", None)) is not None:
        return f"{what} exactly {shown(exact)}"
    if None not in (bound.at_least, bound.at_most):
        return f"{what} from {shown(bound.at_least)} to {shown(bound.at_most)}"
    floor = bound.at_least is not None
    return f"{what} {'above' if floor else 'below'} {shown(bound.at_least if floor else bound.at_most)}"
