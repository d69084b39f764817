"""The forest plot: every claim with an effect in its paper, ours divided by the paper's, as one SVG."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from reprise.report.page.answers import Answer
from reprise.report.parts.rounding import fixed
from reprise.report.parts.words import cut

_LABEL = 57
"""Characters of a label."""
LOW, HIGH = -2.0, 4.0
"""Ends of the axis; what lies beyond them is an arrow with its number."""
STYLE = Path(__file__).with_name("forest.css").read_text(encoding="utf-8")


def forest(groups: Mapping[str, Sequence[Answer]], narrow: bool = False, alone: bool = False) -> str:
    """The plot of the claims that have a ratio, below the titles of their groups; equal answers give equal bytes.

    `narrow`: for a phone, each label above its interval. `alone`: a file of its own, with style and background and
    without links.
    """
    groups = {title: [a for a in found if a.ratio is not None] for title, found in groups.items()}
    groups = {title: found for title, found in groups.items() if found}
    width, left, right = (360, 8, 112) if narrow else (880, 390, 126)
    step, above, top = (31, 14, 32) if narrow else (17, 0, 32)
    height = top + sum(18 + step * len(found) for found in groups.values()) + 10
    out = [
        f'<svg class="forest {"narrow" if narrow else "wide"}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="Our effect divided by the paper\'s, claim by claim">'
    ]
    if alone:
        out.append(f'<style>\n{STYLE}</style><rect width="{width}" height="{height}" style="fill:var(--bg)"/>')

    def x(value: float) -> float:
        share = (min(HIGH, max(LOW, value)) - LOW) / (HIGH - LOW)
        return round(left + (width - left - right) * share, 1)

    for tick in range(int(LOW), int(HIGH) + 1):
        kind = {0: "zero", 1: "one"}.get(tick, "rule")
        out.append(f'<line class="{kind}" x1="{x(tick)}" x2="{x(tick)}" y1="{top - 6}" y2="{height - 6}"/>')
        out.append(f'<text class="soft" text-anchor="middle" x="{x(tick)}" y="{top - 10}">{fixed(tick, 0)}</text>')
    out.append(f'<text class="soft" text-anchor="end" x="{x(-0.4)}" y="10">opposite</text>')
    out.append(f'<text class="soft" x="{x(0.06)}" y="10">none</text>')
    out.append(f'<text class="soft" x="{x(0.97)}" y="10">as in the paper</text>')
    out.append(f'<text class="soft" text-anchor="end" x="{width - 2}" y="{top - 10}">ours / paper</text>')
    y = top
    for title, found in groups.items():
        y += 18
        out.append(f'<text class="head" x="2" y="{y - 5}">{escape(title)}</text>')
        for answer in found:
            at = y + step / 2 + above / 2
            label = escape(cut(f"{answer.name}  {answer.text}", _LABEL))
            parts = [f'<text x="{8 if narrow else 14}" y="{y + 11 if narrow else at + 4}">{label}</text>']
            parts += _marks(answer, at, x, 11 if narrow else -4)
            said, ends = _number(answer.ratio), (answer.low, answer.high)
            said += "" if None in ends else f" [{', '.join(map(_number, ends))}]"
            parts.append(f'<text class="soft" text-anchor="end" x="{width - 2}" y="{at + 4}">{said}</text>')
            told = f"{label}: {said} times the paper's effect, {answer.kind}"
            inner = f"<title>{told}</title>{''.join(parts)}"
            out.append(f"<g>{inner}</g>" if alone else f'<a href="#{escape(answer.link)}">{inner}</a>')
            y += step
    return "\n".join([*out, "</svg>\n"])


def _marks(answer: Answer, at: float, x: Callable[[float], float], aside: float) -> Iterator[str]:
    """Interval, arrows and point of one claim; a number `aside` of the interval where the point is off the axis."""
    kind, ratio = answer.kind, answer.ratio
    low, high = (ratio if end is None else end for end in (answer.low, answer.high))
    crossed = high > LOW and low < HIGH
    if crossed:
        yield f'<line class="{kind}" stroke-width="1.6" x1="{x(low)}" x2="{x(high)}" y1="{at}" y2="{at}"/>'
    for end, sign, beyond in ((LOW, -1, low < LOW), (HIGH, 1, high > HIGH)):
        if beyond:
            base = x(end) - 6 * sign
            points = f"{x(end)},{at} {base},{at - 3.5} {base},{at + 3.5}"
            yield f'<polygon class="{kind} end" points="{points}"/>'
    if LOW <= ratio <= HIGH:
        hollow = "" if answer.full else " hollow"
        yield f'<circle class="{kind}{hollow}" stroke-width="1.6" cx="{x(ratio)}" cy="{at}" r="4"/>'
    else:
        side, anchor = (x(LOW) + 9, "start") if ratio < LOW else (x(HIGH) - 9, "end")
        baseline = at + (aside if crossed and high - low > 2 else 3.5)
        number = f"{_number(ratio)}{'' if answer.full else ' (reduced)'}"
        yield f'<text class="{kind} end" text-anchor="{anchor}" x="{side}" y="{baseline}">{number}</text>'


def _number(value: float) -> str:
    text = f"{value:.{2 if abs(value) < 9.995 else 0}f}".replace("-", "−")
    return text.removeprefix("−") if not text.strip("−0.") else text
