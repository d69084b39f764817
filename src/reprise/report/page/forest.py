"""The forest plot: of every claim with an effect in its paper, the paper's and ours on one scale, as one SVG.

The unit of the scale is the paper's effect: the paper stands at 1, in the band that the rounding of its printed
numbers leaves, and ours at ours divided by the paper's, with its 95 % interval.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from textwrap import wrap

from reprise.report.parts.answers import Answer
from reprise.report.parts.rounding import fixed
from reprise.report.parts.summary import Summary

LOW, HIGH = -2.0, 4.0
"""Ends of the axis; what lies beyond them is an arrow, and its number stands at the right."""
STYLE = Path(__file__).with_name("forest.css").read_text(encoding="utf-8")
_NARROW = 54
"""Characters of a line of a label on a phone."""
_LEGEND = (
    ("paper", "the paper's effect; band: its rounding"),
    ("ours", "ours, tier paper"),
    ("ours hollow", "ours, tier reduced"),
    ("bar", "95 % interval"),
    ("end", "beyond the axis"),
    ("agrees", "agrees"),
    ("disagrees", "disagrees"),
    ("undecided", "undecided"),
)


def plot(summary: Summary, narrow: bool = False, alone: bool = False) -> str:
    """Draw the forest plot of a summary, a group a document. See `forest`."""
    groups = {f"{document.number} {document.name}": document.answers for document in summary.documents}
    return forest(groups, narrow, alone)


def forest(groups: Mapping[str, Sequence[Answer]], narrow: bool = False, alone: bool = False) -> str:
    """Draw the claims that have an effect in their paper, below the titles of their groups.

    Args:
        groups: Answers by the title of their group; equal answers give equal bytes.
        narrow: For a phone: each label stands above its interval.
        alone: A file of its own, with style, background and legend, and without links.

    Returns:
        The text of an SVG.
    """
    groups = {title: [a for a in answers if a.plotted] for title, answers in groups.items()}
    groups = {title: answers for title, answers in groups.items() if answers}
    width, left, right = (372, 8, 116) if narrow else (960, 440, 150)
    step, above, top = (46, 28, 32) if narrow else (18, 0, 32)
    columns = 1 if narrow else 4
    below = 16 * math.ceil(len(_LEGEND) / columns) + 8
    end = top + sum(20 + step * len(answers) for answers in groups.values()) + 6
    height = end + below
    out = [
        f'<svg class="forest {"narrow" if narrow else "wide"}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="Our effect and the paper\'s, claim by claim">'
    ]
    if alone:
        out.append(f'<style>\n{STYLE}</style><rect width="{width}" height="{height}" style="fill:var(--bg)"/>')

    def x(value: float) -> float:
        share = (min(HIGH, max(LOW, value)) - LOW) / (HIGH - LOW)
        return round(left + (width - left - right) * share, 1)

    for tick in range(int(LOW), int(HIGH) + 1):
        kind = {0: "zero", 1: "one"}.get(tick, "rule")
        out.append(f'<line class="{kind}" x1="{x(tick)}" x2="{x(tick)}" y1="{top - 6}" y2="{end}"/>')
        out.append(f'<text class="soft" text-anchor="middle" x="{x(tick)}" y="{top - 10}">{fixed(tick, 0)}</text>')
    if not narrow:
        out.append(f'<text class="soft" text-anchor="end" x="{x(-0.3)}" y="10">opposite</text>')
        out.append(f'<text class="soft" text-anchor="middle" x="{x(0)}" y="10">none</text>')
    out.append(f'<text class="soft" x="{x(0.5)}" y="10">as in the paper</text>')
    out.append(f'<text class="soft" text-anchor="end" x="{width - 2}" y="{top - 10}">ours / paper</text>')
    y = top
    for title, answers in groups.items():
        y += 20
        out.append(f'<text class="head" x="2" y="{y - 6}">{escape(title)}</text>')
        for answer in answers:
            at = y + step / 2 + above / 2
            name = f"{answer.claim}{'*' if answer.decision.afterwards else ''}"
            label = escape(f"{name}  {answer.title}")
            texts = wrap(label, _NARROW) if narrow else [label]
            first = y + 26 - 13 * (len(texts) - 1) if narrow else at + 4
            parts = [f'<text x="{8 if narrow else 14}" y="{first + 13 * i}">{t}</text>' for i, t in enumerate(texts)]
            parts += _marks(answer, at, x)
            ratio = answer.plotted.ratio
            number, ends = _number(ratio.value), (ratio.low, ratio.high)
            number += "" if None in ends else f" [{', '.join(map(_number, ends))}]"
            parts.append(f'<text class="soft" text-anchor="end" x="{width - 2}" y="{at + 4}">{number}</text>')
            inner = f"<title>{label}: {number} times the paper's effect, {answer.answer}</title>{''.join(parts)}"
            out.append(f"<g>{inner}</g>" if alone else f'<a href="#{escape(answer.link)}">{inner}</a>')
            y += step
    for i, (kind, words) in enumerate(_LEGEND):
        place = (8 if narrow else 14) + (width - 16) / columns * (i % columns)
        out += _key(kind, words, place, end + 16 + 16 * (i // columns))
    return "\n".join([*out, "</svg>\n"])


def _marks(answer: Answer, at: float, x: Callable[[float], float]) -> Iterator[str]:
    """Draw the paper's band and mark, and our interval, arrows and mark."""
    one, kind, ratio = answer.plotted, answer.kind, answer.plotted.ratio
    left, right = sorted(
        x(bound / one.paper_converted) for bound in one.paper_band or (one.paper_converted, one.paper_converted)
    )
    yield f'<rect class="band" x="{left}" y="{at - 5}" width="{round(right - left, 1)}" height="10"/>'
    yield f'<path class="paper" d="M{x(1)} {at - 5}l3.5 5l-3.5 5l-3.5 -5z"/>'
    low, high = (ratio.value if bound is None else bound for bound in (ratio.low, ratio.high))
    if high > LOW and low < HIGH:
        yield f'<line class="{kind}" stroke-width="1.6" x1="{x(low)}" x2="{x(high)}" y1="{at}" y2="{at}"/>'
    for bound, sign, beyond in ((LOW, -1, low < LOW), (HIGH, 1, high > HIGH)):
        if beyond:
            base = x(bound) - 6 * sign
            points = f"{x(bound)},{at} {base},{at - 3.5} {base},{at + 3.5}"
            yield f'<polygon class="{kind} end" points="{points}"/>'
    if LOW <= ratio.value <= HIGH:
        hollow = "" if answer.full else " hollow"
        yield f'<circle class="{kind}{hollow}" stroke-width="1.6" cx="{x(ratio.value)}" cy="{at}" r="4"/>'


def _key(kind: str, words: str, x: float, y: float) -> Iterator[str]:
    """Draw one entry of the legend."""
    if kind == "paper":
        yield f'<rect class="band" x="{x - 2}" y="{y - 5}" width="14" height="10"/>'
        yield f'<path class="paper" d="M{x + 5} {y - 5}l3.5 5l-3.5 5l-3.5 -5z"/>'
    elif kind == "bar":
        yield f'<line class="undecided" stroke-width="1.6" x1="{x - 2}" x2="{x + 12}" y1="{y}" y2="{y}"/>'
    elif kind == "end":
        yield f'<polygon class="undecided end" points="{x + 9},{y} {x + 3},{y - 3.5} {x + 3},{y + 3.5}"/>'
    else:
        shade = kind.replace("ours", "undecided")
        yield f'<circle class="{shade}" stroke-width="1.6" cx="{x + 5}" cy="{y}" r="4"/>'
    yield f'<text class="soft" x="{x + 17}" y="{y + 4}">{escape(words)}</text>'


def _number(value: float) -> str:
    text = f"{value:.{2 if abs(value) < 9.995 else 0}f}".replace("-", "−")
    return text.removeprefix("−") if not text.strip("−0.") else text
