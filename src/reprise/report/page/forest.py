"""Draw the forest plot: the paper's effect and ours, for every claim with an effect in its paper.

The unit of the scale is the paper's effect. The paper stands at 1, in the band that the rounding of its numbers leaves.
Ours stands at its ratio to the paper's, with its 95 % interval.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap

from reprise.report.parts.answers import Answer
from reprise.report.parts.rounding import format_fixed
from reprise.report.parts.summary import Summary

LOW, HIGH = -2.0, 4.0
"""Ends of the axis; what lies beyond them is an arrow, and its number stands at the right."""
STYLE = Path(__file__).with_name("forest.css").read_text(encoding="utf-8")
_NARROW_LABEL = 54
"""Characters per line of a label on a phone."""
_LEGEND = (
    ("paper", "paper's effect; band: rounding"),
    ("ours", "ours, tier paper"),
    ("ours hollow", "ours, tier {}"),
    ("bar", "95 % interval"),
    ("end", "beyond the axis"),
    ("agrees", "agrees"),
    ("disagrees", "disagrees"),
    ("undecided", "undecided"),
)


@dataclass(frozen=True)
class _Layout:
    """Hold the lengths of a plot, in pixels.

    Attributes:
        is_narrow: Whether it is for a phone.
        width: The width of the plot.
        left: The space left of its axis.
        right: The space right of its axis.
        row_height: The height of a row.
        label_height: The height of a label above its row; 0 if it stands in the row.
        columns: The number of columns of the legend.
        indent: The indent of labels and legend.
    """

    is_narrow: bool
    width: int
    left: int
    right: int
    row_height: int
    label_height: int
    columns: int
    indent: int

    def scale(self, value: float) -> float:
        """Return the place of a ratio; beyond the axis, that of its end."""
        share = (min(HIGH, max(LOW, value)) - LOW) / (HIGH - LOW)
        return round(self.left + (self.width - self.left - self.right) * share, 1)


_NARROW = _Layout(True, 372, 8, 116, row_height=46, label_height=28, columns=1, indent=8)
_WIDE = _Layout(False, 960, 440, 150, row_height=18, label_height=0, columns=4, indent=14)
_TOP = 32
"""Pixels above the first row."""


def plot_summary(summary: Summary, is_narrow: bool = False, is_standalone: bool = False) -> str:
    """Draw the forest plot of a summary, one group per document."""
    groups = {f"{document.number} {document.name}": document.answers for document in summary.documents}
    return plot_forest(groups, is_narrow, is_standalone)


def select_plotted(groups: Mapping[str, Sequence[Answer]]) -> dict[str, list[Answer]]:
    """Return the answers that have an effect in their paper, by group; groups without any are left out."""
    plotted = {title: [a for a in answers if a.plotted_comparison] for title, answers in groups.items()}
    return {title: answers for title, answers in plotted.items() if answers}


def plot_forest(groups: Mapping[str, Sequence[Answer]], is_narrow: bool = False, is_standalone: bool = False) -> str:
    """Draw the claims that have an effect in their paper, below the titles of their groups.

    Args:
        groups: Answers by the title of their group; equal answers give equal bytes.
        is_narrow: For a phone: each label stands above its interval.
        is_standalone: As a file of its own, with style, background and legend, and without links.

    Returns:
        The text of an SVG.
    """
    groups = select_plotted(groups)
    layout = _NARROW if is_narrow else _WIDE
    bottom = _TOP + sum(20 + layout.row_height * len(answers) for answers in groups.values()) + 6
    lower_tiers = sorted({a.tier for answers in groups.values() for a in answers if not a.is_full_tier})
    legend = [
        (css_class, text.format(" and ".join(lower_tiers)))
        for css_class, text in _LEGEND
        if lower_tiers or css_class != "ours hollow"
    ]
    height = bottom + 16 * math.ceil(len(legend) / layout.columns) + 8
    lines = [
        f'<svg class="forest {"narrow" if is_narrow else "wide"}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {layout.width} {height}" role="img" aria-label="Our effect and the paper\'s, claim by claim">'
    ]
    if is_standalone:
        rectangle = f'<rect width="{layout.width}" height="{height}" style="fill:var(--bg)"/>'
        lines.append(f"<style>\n{STYLE}</style>{rectangle}")
    lines += _draw_axis(layout, bottom)
    y = _TOP
    for title, answers in groups.items():
        y += 20
        lines.append(f'<text class="head" x="2" y="{y - 6}">{escape(title)}</text>')
        for answer in answers:
            lines.append(_draw_answer(answer, y, layout, is_standalone))
            y += layout.row_height
    for i, (css_class, label_text) in enumerate(legend):
        legend_x = layout.indent + (layout.width - 16) / layout.columns * (i % layout.columns)
        lines += _draw_legend_entry(css_class, label_text, legend_x, bottom + 16 + 16 * (i // layout.columns))
    return "\n".join([*lines, "</svg>\n"])


def _draw_axis(layout: _Layout, bottom: float) -> Iterator[str]:
    """Draw the lines of the scale, their numbers and what they mean."""
    for tick in range(int(LOW), int(HIGH) + 1):
        css_class = {0: "zero", 1: "one"}.get(tick, "rule")
        x = layout.scale(tick)
        yield f'<line class="{css_class}" x1="{x}" x2="{x}" y1="{_TOP - 6}" y2="{bottom}"/>'
        yield f'<text class="soft" text-anchor="middle" x="{x}" y="{_TOP - 10}">{format_fixed(tick, 0)}</text>'
    if not layout.is_narrow:
        yield f'<text class="soft" text-anchor="end" x="{layout.scale(-0.5)}" y="10">opposite</text>'
        yield f'<text class="soft" text-anchor="middle" x="{layout.scale(0)}" y="10">none</text>'
    yield f'<text class="soft" x="{layout.scale(0.5)}" y="10">as in the paper</text>'
    yield f'<text class="soft" text-anchor="end" x="{layout.width - 2}" y="{_TOP - 10}">ours / paper</text>'


def _draw_answer(answer: Answer, y: float, layout: _Layout, is_standalone: bool) -> str:
    """Draw the row of an answer that begins at `y`: label, marks and ratio, as a link on the page."""
    middle = y + layout.row_height / 2 + layout.label_height / 2
    name = f"{answer.claim}{'*' if answer.decision.afterwards else ''}"
    label = f"{name}  {answer.title}"
    texts = wrap(label, _NARROW_LABEL) if layout.is_narrow else [label]
    text_y = y + 26 - 13 * (len(texts) - 1) if layout.is_narrow else middle + 4
    elements = [
        f'<text x="{layout.indent}" y="{text_y + 13 * i}">{escape(text)}</text>' for i, text in enumerate(texts)
    ]
    elements += _draw_marks(answer, middle, layout.scale)
    ratio = answer.plotted_comparison.ratio
    ratio_text, interval = _format_ratio(ratio.value), (ratio.low, ratio.high)
    ratio_text += "" if None in interval else f" [{', '.join(map(_format_ratio, interval))}]"
    elements.append(f'<text class="soft" text-anchor="end" x="{layout.width - 2}" y="{middle + 4}">{ratio_text}</text>')
    rounding = f" ({' to '.join(map(_format_ratio, ratio.rounding))} by its rounding)" if ratio.rounding else ""
    title = f"{label}: {ratio_text} times the paper's effect{rounding}, {answer.answer}"
    group = f"<title>{escape(title)}</title>{''.join(elements)}"
    return f"<g>{group}</g>" if is_standalone else f'<a href="#{escape(answer.link)}">{group}</a>'


def _draw_marks(answer: Answer, middle: float, scale: Callable[[float], float]) -> Iterator[str]:
    """Draw the paper's band and mark, and our interval, arrows and mark."""
    comparison, css_class, ratio = answer.plotted_comparison, answer.css_class, answer.plotted_comparison.ratio
    left, right = sorted(
        scale(bound / comparison.paper_converted)
        for bound in comparison.paper_band or (comparison.paper_converted, comparison.paper_converted)
    )
    yield f'<rect class="band" x="{left}" y="{middle - 5}" width="{round(right - left, 1)}" height="10"/>'
    yield f'<path class="paper" d="M{scale(1)} {middle - 5}l3.5 5l-3.5 5l-3.5 -5z"/>'
    low, high = (ratio.value if bound is None else bound for bound in (ratio.low, ratio.high))
    if high > LOW and low < HIGH:
        ends = f'x1="{scale(low)}" x2="{scale(high)}" y1="{middle}" y2="{middle}"'
        yield f'<line class="{css_class}" stroke-width="1.6" {ends}/>'
    for bound, sign, is_beyond in ((LOW, -1, low < LOW), (HIGH, 1, high > HIGH)):
        if is_beyond:
            base = scale(bound) - 6 * sign
            points = f"{scale(bound)},{middle} {base},{middle - 3.5} {base},{middle + 3.5}"
            yield f'<polygon class="{css_class} end" points="{points}"/>'
    if LOW <= ratio.value <= HIGH:
        hollow = "" if answer.is_full_tier else " hollow"
        yield f'<circle class="{css_class}{hollow}" stroke-width="1.6" cx="{scale(ratio.value)}" cy="{middle}" r="4"/>'


def _draw_legend_entry(kind: str, label: str, x: float, y: float) -> Iterator[str]:
    """Draw one entry of the legend."""
    if kind == "paper":
        yield f'<rect class="band" x="{x - 2}" y="{y - 5}" width="14" height="10"/>'
        yield f'<path class="paper" d="M{x + 5} {y - 5}l3.5 5l-3.5 5l-3.5 -5z"/>'
    elif kind == "bar":
        yield f'<line class="undecided" stroke-width="1.6" x1="{x - 2}" x2="{x + 12}" y1="{y}" y2="{y}"/>'
    elif kind == "end":
        yield f'<polygon class="undecided end" points="{x + 9},{y} {x + 3},{y - 3.5} {x + 3},{y + 3.5}"/>'
    else:
        css_class = kind.replace("ours", "undecided")
        yield f'<circle class="{css_class}" stroke-width="1.6" cx="{x + 5}" cy="{y}" r="4"/>'
    yield f'<text class="soft" x="{x + 17}" y="{y + 4}">{escape(label)}</text>'


def _format_ratio(value: float) -> str:
    """Write a ratio with two decimals; from 10 on, as a whole number."""
    text = f"{value:.{2 if abs(value) < 9.995 else 0}f}".replace("-", "−")
    return text.removeprefix("−") if not text.strip("−0.") else text
