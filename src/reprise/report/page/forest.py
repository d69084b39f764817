"""The forest plot: every claim with an effect in its paper, ours divided by the paper's, as one SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

LOW, HIGH = -2.0, 4.0
"""Ends of the axis; what lies beyond them is an arrow with its number."""
STYLE = """
.forest{font:11.5px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;--ink:#1d2126;--soft:#5b636d;
--line:#d5d9de;--bg:#fff;--agrees:#0a6cb0;--disagrees:#c2500a;--open:#7d858e;--void:#7d858e}
.forest text{fill:var(--ink)}.forest .soft{fill:var(--soft)}.forest .head{font-weight:650}
.forest .rule{stroke:var(--line)}.forest .zero{stroke:var(--ink)}.forest .one{stroke:var(--ink);stroke-dasharray:2 3}
.forest .agrees{stroke:var(--agrees);fill:var(--agrees)}
.forest .disagrees{stroke:var(--disagrees);fill:var(--disagrees)}
.forest .open{stroke:var(--open);fill:var(--open)}
.forest .void{stroke:var(--void);fill:var(--void);stroke-dasharray:3 2}
.forest.narrow text{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}
.forest .hollow{fill:var(--bg)}.forest .end{stroke:none}.forest text.end{font-size:10px}
@media (prefers-color-scheme:dark){.forest{--ink:#e3e6e9;--soft:#a2aab3;--line:#333a42;--bg:#15181c;--agrees:#6fb8ee;
--disagrees:#f0996c;--open:#9aa3ad;--void:#9aa3ad}}
"""


@dataclass(frozen=True)
class Row:
    """One claim: ours over the paper's effect with its 95 % interval; `kind` is its direction, `full` its protocol.

    `beside`: words that stand in the place of the ratio, where it decides nothing.
    """

    group: str
    label: str
    link: str
    kind: str
    full: bool
    ratio: float
    low: float | None
    high: float | None
    beside: str = ""

    @property
    def words(self) -> str:
        """ "0.87 [0.38, 1.35]"; the number alone where no interval is known."""
        if self.low is None or self.high is None:
            return _number(self.ratio)
        return f"{_number(self.ratio)} [{_number(self.low)}, {_number(self.high)}]"


def forest(rows: Sequence[Row], narrow: bool = False, alone: bool = False) -> str:
    """The plot as text; equal rows give equal bytes.

    `narrow`: for a phone, each label above its interval. `alone`: a file of its own, with style and background and
    without links.
    """
    width, left, right = (360, 8, 112) if narrow else (880, 390, 126)
    step, above = (31, 14) if narrow else (17, 0)
    plot = width - left - right
    top = 32
    groups = list(dict.fromkeys(row.group for row in rows))
    height = top + 18 * len(groups) + step * len(rows) + 10
    out = [
        f'<svg class="forest {"narrow" if narrow else "wide"}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="Our effect divided by the paper\'s, claim by claim">'
    ]
    if alone:
        out.append(f'<style>{STYLE}</style><rect width="{width}" height="{height}" style="fill:var(--bg)"/>')

    def x(value: float) -> float:
        return round(left + plot * (min(HIGH, max(LOW, value)) - LOW) / (HIGH - LOW), 1)

    bottom = height - 6
    for tick in range(int(LOW), int(HIGH) + 1):
        kind = {0: "zero", 1: "one"}.get(tick, "rule")
        out.append(f'<line class="{kind}" x1="{x(tick)}" x2="{x(tick)}" y1="{top - 6}" y2="{bottom}"/>')
        out.append(f'<text class="soft" text-anchor="middle" x="{x(tick)}" y="{top - 10}">{_number(tick, 0)}</text>')
    out.append(f'<text class="soft" text-anchor="end" x="{x(-0.1)}" y="10">opposite</text>')
    out.append(f'<text class="soft" x="{x(0.06)}" y="10">none</text>')
    out.append(f'<text class="soft" x="{x(0.97)}" y="10">as in the paper</text>')
    out.append(f'<text class="soft" text-anchor="end" x="{width - 2}" y="{top - 10}">ours / paper</text>')
    y = top
    for group in groups:
        y += 18
        out.append(f'<text class="head" x="2" y="{y - 5}">{escape(group)}</text>')
        for row in rows:
            if row.group == group:
                out.append(_row(row, y + step / 2 + above / 2, y, narrow, left, width, x, alone))
                y += step
    return "\n".join([*out, "</svg>\n"])


def _row(
    row: Row, at: float, y: float, narrow: bool, left: int, width: int, x: Callable[[float], float], alone: bool
) -> str:
    label = escape(row.label)
    parts = [f'<text x="8" y="{y + 11}">{label}</text>' if narrow else f'<text x="14" y="{at + 4}">{label}</text>']
    kind = row.kind
    low, high = (row.ratio if end is None else end for end in (row.low, row.high))
    if high > LOW and low < HIGH:
        parts.append(f'<line class="{kind}" stroke-width="1.6" x1="{x(low)}" x2="{x(high)}" y1="{at}" y2="{at}"/>')
    for end, sign, beyond in ((LOW, -1, low < LOW), (HIGH, 1, high > HIGH)):
        if beyond:
            tip = x(end)
            points = f"{tip},{at} {tip - 6 * sign},{at - 3.5} {tip - 6 * sign},{at + 3.5}"
            parts.append(f'<polygon class="{kind} end" points="{points}"/>')
    if LOW <= row.ratio <= HIGH:
        hollow = "" if row.full else " hollow"
        parts.append(f'<circle class="{kind}{hollow}" stroke-width="1.6" cx="{x(row.ratio)}" cy="{at}" r="4"/>')
    else:
        side, anchor = (x(LOW) + 9, "start") if row.ratio < LOW else (x(HIGH) - 9, "end")
        hollow = "" if row.full else " (reduced)"
        number = f"{_number(row.ratio)}{hollow}"
        crossed = high - low > 2 and high > LOW and low < HIGH  # by the interval, above or below which it stands then
        baseline = at + (3.5 if not crossed else 11 if narrow else -4)
        parts.append(f'<text class="{kind} end" text-anchor="{anchor}" x="{side}" y="{baseline}">{number}</text>')
    parts.append(f'<text class="soft" text-anchor="end" x="{width - 2}" y="{at + 4}">{row.beside or row.words}</text>')
    inner = "".join(parts)
    title = (
        f"<title>{label}: {row.words} times the paper's effect, {row.kind}{row.beside and f' ({row.beside})'}</title>"
    )
    return f"<g>{title}{inner}</g>" if alone else f'<a href="#{escape(row.link)}">{title}{inner}</a>'


def _number(value: float, places: int | None = None) -> str:
    if places is None:
        places = 2 if abs(value) < 9.995 else 0
    text = f"{value:.{places}f}".replace("-", "−")
    return text.removeprefix("−") if not text.strip("−0.") else text
