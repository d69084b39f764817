"""Claims of a paper, and the statistic of our run records that would support or contradict it.

A statistic names experiments and a metric, never a number of ours. `lower` and `higher` say which of two experiments
has the lower metric if the claim is true. So the direction of the metric need not be known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from reprise.config.base import Id, Name, Origin, Strict
from reprise.units import Unit

TITLE_WORDS = 20


def _check_title_length(title: str) -> str:
    """Return the title of a comparison, if it has at most `TITLE_WORDS` words."""
    if not 0 < len(title.split()) <= TITLE_WORDS:
        raise ValueError(f"has {len(title.split())} words; write 1 to {TITLE_WORDS}")
    return title


Kind = Literal[
    "superiority", "non-inferiority", "equivalence", "ordering", "identity", "threshold", "unit", "descriptive"
]


class Term(Strict):
    """A metric of an experiment; what is left out is the claim's."""

    experiment: Name
    metric: str | None = None
    split: str | None = None


class Mean(Strict):
    """The mean over several experiments, each once: a part of a sweep."""

    mean: Annotated[list[Name | Term], Field(min_length=2)]


def _tag_side(content: Any) -> str:
    """Tell which of the three a side is meant as, so that a mistake in it is reported as one of that."""
    if isinstance(content, Mapping):
        return "Mean" if "mean" in content else "Term"
    return type(content).__name__ if isinstance(content, Term | Mean) else "Name"


Side = Annotated[
    Annotated[Name, Tag("Name")] | Annotated[Term, Tag("Term")] | Annotated[Mean, Tag("Mean")], Discriminator(_tag_side)
]
Group = Annotated[list[Side], Field(min_length=1)]
LARGEST_COUNT = 2**53
"""A count up to here is a float too."""


class Comparison(Strict):
    """If the claim is true, the metric of `lower` is below that of `higher`."""

    lower: Side
    higher: Side


class Gain(Comparison):
    """What the metric falls by from `higher` to `lower`; `name` says so in words: "r-GRU over GRU, H = 244"."""

    name: str = Field(min_length=1, max_length=60)


class Margin(Strict):
    """The largest difference that counts as none, or, in a superiority claim, the least that counts.

    Relative margins are shares of the metric of `higher`, or of the second of two that should be equal. A share of the
    gain says how much of what `higher` is below `over` `lower` has to be below it as well.
    """

    value: float = Field(gt=0, le=1e9)
    measure: Literal["relative", "absolute", "share-of-gain"] = Field(alias="is")
    over: Name | None = None
    origin: Origin = Field(alias="from")


class Bound(Strict):
    """Bounds that experiments are held to."""

    at_least: float | None = None
    at_most: float | None = None


class Share(Bound):
    """A bound on the share of replicas whose metric, or a point of their curve of that name, is at least `reaches`."""

    at_least: float | None = Field(None, gt=0, lt=1)
    at_most: float | None = Field(None, gt=0, lt=1)
    experiments: list[Name] = Field(min_length=1)
    reaches: float


class Trend(Strict):
    """A sweep along which the metric falls: as a slope over log x, and from the first experiment to the last.

    If the last lies significantly above the lowest, the answer is at best undecided.
    """

    experiments: Annotated[list[Name], Field(min_length=3)]
    x: list[float]


class Curve(Strict):
    """A sweep whose metric bends upward: its quadratic coefficient over log x is above 0.

    That alone does not say that the metric rises toward both ends; a fall that levels off bends upward too.
    """

    experiments: Annotated[list[Name | Term], Field(min_length=4)]
    x: list[float]


class Ranks(Strict):
    """The replicas of each of `lower` lie below those of `higher`, by exact rank tests; diverged ones rank last."""

    higher: Name
    lower: Annotated[list[Name], Field(min_length=1)]


class Learned(Strict):
    """What shows that a model learnt its task at all: the mean of this metric lies beyond the chance level.

    Of an accuracy the mean is above `above`, of a loss below `below`. `reprise.evidence.verdicts` says what follows
    where one did not.
    """

    metric: str
    split: str
    above: float | None = None
    below: float | None = None
    why: str = Field(description="where the level comes from")

    def is_shown_by(self, mean: float) -> bool:
        """Tell whether a mean lies beyond the level."""
        return (self.above is None or mean > self.above) and (self.below is None or mean < self.below)


class Level(Bound):
    """A bound on mean metrics, or both, also on several of one experiment.

    In place of bounds `equals` is the whole number that a count has to be.
    """

    experiments: list[Side] = Field(min_length=1)
    equals: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] | None = None


class Published(Strict):
    """A number from elsewhere, for comparison."""

    value: float
    what: str
    source: str


class UnitQuestion(Strict):
    """Whether the reported numbers are in the unit that the paper states, or in another."""

    stated: Unit
    other: Unit
    experiments: list[Name] = Field(min_length=1)
    reference: Name | None = Field(None, description="a simple model of ours on the same text")
    published: Published | None = Field(None, description="the best number that was known, in the stated unit")


class Former(Strict):
    """A criterion that was replaced once its answer was known."""

    criterion: str
    answer: str = Field(
        description="its answer at the fullest tier that ran it, and the one when it was replaced if records changed it"
    )
    why: str = Field(description="why it was replaced")


class Claim(Strict):
    """A proposition of a paper. One of the keys from `compare` to `checks` says what is tested."""

    quote: str | None = Field(
        None, description="the paper's words, verbatim; [brackets] hold ours; null where no sentence states the claim"
    )
    tested: Annotated[str, AfterValidator(_check_title_length)] = Field(
        description="what we compare, in at most 20 words"
    )
    short: Annotated[str, Field(max_length=60)] | None = Field(None, description="the same, if `tested` is longer")
    place: str
    kind: Kind | None = None
    evidence: Literal["arithmetic", "counted"] | None = Field(
        None,
        description="what decides it, where that is not seen: checks that calculate alone, networks left untrained",
    )
    metric: str | None = None
    split: str | None = None
    compare: Comparison | list[Comparison] | None = Field(None, description="each `lower` is below its `higher`")
    order: Annotated[list[Side | Group], Field(min_length=2)] | None = Field(
        None, description="ascending; the members of a list in it are not compared with each other"
    )
    gaps: Annotated[list[Gain], Field(min_length=2)] | None = Field(
        None, description="each gain, higher - lower, is larger than the next"
    )
    equal: list[Annotated[list[Side], Field(min_length=2, max_length=2)]] | None = Field(
        None, description="the two of each pair differ by less than the margin"
    )
    optimum: list[Annotated[list[Name], Field(min_length=2)]] | None = Field(
        None,
        min_length=2,
        description="sweeps of equal length: at one place the metric is lowest in all of them, to within the margin",
    )
    trend: Trend | None = Field(None, description="the metric falls along a sweep and does not rise at its end")
    curve: Annotated[list[Curve], Field(min_length=1)] | None = Field(
        None, description="the metric bends upward over log x along each sweep"
    )
    ranks: Ranks | None = Field(None, description="the replicas of one lie above those of others")
    share: Share | None = Field(None, description="how many replicas get somewhere")
    level: Level | None = Field(None, description="each mean metric against a bound")
    unit: UnitQuestion | None = Field(None, description="which unit fits the reported numbers")
    checks: list[Id] = Field([], description="every computed error is within its tolerance")
    corrections: list[Id] = Field([], description="the checks of the corrected formula, which decide nothing")
    margin: Margin | None = None
    learned: Learned | None = None
    afterwards: str | None = Field(None, description="what of the rule was set after its numbers were known")
    was: list[Former] = Field([], description="criteria that stood here before, with their answers")
    criterion: str | None = Field(None, description="how the statistic stands for the words, where that is a choice")
    contradicted_by: str | None = Field(None, description="what the paper itself, or its author's log, says against it")
    reason: str | None = Field(None, description="why records cannot decide it")

    @property
    def label(self) -> str:
        """Return what we compare, in at most 60 characters."""
        return self.short or self.tested

    @property
    def source(self) -> str:
        """Return the paper's words in quotation marks, with their place; or that no sentence of it states the claim."""
        return f"“{self.quote}” ({self.place})" if self.quote else f"Not stated in words; read from {self.place}."

    def list_sides(self) -> Iterator[tuple[str, Term]]:
        """Yield every experiment that the statistic names, with its key: in a list, with its place, from 0.

        What a side leaves out is filled in.
        """
        for key, side in chain.from_iterable(_list_named_sides(getattr(self, name), name) for name in _KEYS_WITH_SIDES):
            term = side if isinstance(side, Term) else Term(experiment=side)
            filled = {"metric": term.metric or self.metric, "split": term.split or self.split}
            yield key, term.model_copy(update=filled)

    def group_sides(self) -> dict[str, list[tuple[str, Term]]]:
        """Group the sides by what they are compared within: all of a list, or a comparison, pair or sweep."""
        groups: dict[str, list[tuple[str, Term]]] = {}
        for key, term in self.list_sides():
            statistic, *_ = key.split(".")
            one = statistic in ("order", "ranks", "trend", "share", "level", "unit")
            group = statistic if one else key.partition(".mean.")[0].rpartition(".")[0]
            if statistic != "margin":
                groups.setdefault(group, []).append((key, term))
        return groups


_KEYS_WITH_SIDES = ("compare", "gaps", "order", "equal", "optimum", "ranks", "margin")
_KEYS_WITH_SIDES += ("trend", "curve", "share", "level", "unit")
"""What of a claim names experiments."""


def _list_named_sides(value: Any, key: str) -> Iterator[tuple[str, Name | Term]]:
    if isinstance(value, str | Term):
        yield key, value
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from _list_named_sides(one, f"{key}.{i}")
    elif value is not None:
        for part in type(value).model_fields:
            if part in ("lower", "higher", "mean", "experiments", "reference", "over"):
                yield from _list_named_sides(getattr(value, part), f"{key}.{part}")


class Arithmetic(Strict):
    """A number printed in a paper, and how it follows from others; see `reprise.evidence.arithmetic`."""

    text: str
    place: str
    formula: str
    values: dict[str, float | int] = {}
    printed: str | None = Field(None, description="as the paper prints it: 3M, 82 %, 463,069")
    equals: str | None = Field(None, description="a second formula that the paper calls equal")
    experiment: Id | None = Field(None, description="whose parameters the formula counts; a test builds the model")
    note: str | None = None
