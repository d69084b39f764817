"""Hold the answer to a claim, and what it rests on, as types.

claims.json is their dump, and the same classes read it back.

{paper: {claim: Decision}}. Floats have six significant digits, so that machines agree on every byte.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from reprise.config.claims import Former, Kind
from reprise.errors import UserError
from reprise.files import dump_json, entry_exists

AnswerName = Literal["agrees", "disagrees", "undecided", "not judged", "not run", "no data", "not tested"]
SizeName = Literal["consistent", "smaller", "larger", "opposite"]
Evidence = Literal["trained", "counted", "equation", "arithmetic"]
Counted = Literal["seeds", "folds", "exact"]
_DIGITS = 6


class Typed(BaseModel):
    """What is written to claims.json and read back: no unknown key, no change, no infinite number."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Term(Typed):
    """One mean of a comparison: ours, of perplexities the geometric one, and the paper's number in its own unit.

    The comparison's estimate is the sum of weight * mean.
    """

    experiment: str
    title: str
    metric: str
    split: str
    weight: float
    mean: float
    unit: str | None
    paper: float | None
    paper_unit: str | None


class Ratio(Typed):
    """Our effect divided by the paper's, with the 95 % interval of ours."""

    value: float
    low: float | None
    high: float | None
    rounding: tuple[float, float] | None = Field(
        description="what `value` may be by the rounding of the paper's numbers; None where that allows an effect of 0"
    )


class Comparison(Typed):
    """One thing that a claim rests on."""

    label: str
    n: dict[str, int] = Field(description="replicas of each experiment")
    counts: Counted = Field(description="what `n` counts: seeds, folds, or numbers without chance")
    answer: AnswerName
    p: float | None = Field(
        None, description="the one-sided p that the comparison does not hold; None where no test decides it"
    )
    tail: float | None = Field(None, description="the level that `p` is held to")


class Estimated(Comparison):
    """A combination of means, above 0 on the claim's side."""

    terms: tuple[Term, ...]
    scale: Literal["difference", "log"] = Field(
        description="whether the means are combined themselves or their logarithms"
    )
    unit: str | None
    estimate: float = Field(description="the combination of our means, in `unit` and on `scale`")
    error: float | None
    interval: tuple[float, float] | None = Field(description="at `level`; None where one replica shows no SD")
    level: float
    signed_estimate: float = Field(description="the estimate, margin included")
    borrowed: tuple[str, ...] = Field(description="experiments of one replica, whose SD is that of their family")
    bartlett_p: float | None = Field(description="the p value of Bartlett's test that all folds vary alike")
    paper: float | None = Field(description="the paper's combination as printed, in `paper_unit`")
    paper_unit: str | None
    paper_converted: float | None = Field(description="the paper's combination in our unit and on our scale")
    paper_band: tuple[float, float] | None = Field(
        description="what `paper_converted` may be by the rounding of the paper's numbers"
    )
    size: SizeName | None
    ratio: Ratio | None


class Difference(Estimated):
    """The higher side minus the lower one."""

    kind: Literal["difference"] = "difference"


class Gap(Estimated):
    """A gain minus the next gain: the first half of the terms minus what the second half gives, its weights negated."""

    kind: Literal["gap"] = "gap"


class Trend(Estimated):
    """The slope of a metric over log x, above 0 where it falls."""

    kind: Literal["trend"] = "trend"


class Curvature(Estimated):
    """The quadratic coefficient of a metric over log x, above 0 where it bends upward."""

    kind: Literal["curvature"] = "curvature"


class Level(Estimated):
    """A mean held to a bound: at least `bound` where its weight is above 0, at most `bound` where it is below."""

    kind: Literal["level"] = "level"
    bound: float


class Share(Comparison):
    """How many replicas of an experiment reach a number, as a share with its exact interval, and the bound on it."""

    kind: Literal["share"] = "share"
    experiment: str
    reached: int
    at_least: float | None
    at_most: float | None
    estimate: float
    interval: tuple[float, float]
    level: float


class Ranks(Comparison):
    """The replicas of one experiment, `label`, above those of `other`; one that diverged ranks last.

    `p` is None where replicas are so few that no order of them could decide.
    """

    kind: Literal["ranks"] = "ranks"
    other: str
    replicas: tuple[int, int]
    above: int = Field(description="how many of the first lie above all of the second")
    medians: tuple[float | None, float | None] = Field(
        description="the median of each; None where that replica diverged"
    )
    signed_estimate: float


class Error(Comparison):
    """A computed error beside its tolerance. `corrected`: of the formula as it should read, which decides nothing."""

    kind: Literal["error"] = "error"
    experiment: str
    estimate: float
    tolerance: float
    held: bool
    corrected: bool = False
    is_quantity: bool = Field(False, description="whether a measured quantity and its bound stand in place of an error")

    @property
    def share(self) -> float:
        """Return the error in units of its tolerance; the error itself if that is 0."""
        return self.estimate / (self.tolerance or 1.0)


class Unit(Comparison):
    """One model's mean beside the paper's number, both taken to be in `unit`."""

    kind: Literal["unit"] = "unit"
    experiment: str
    metric: str
    split: str
    unit: str
    estimate: float
    paper: float


AnyComparison = Annotated[
    Difference | Gap | Trend | Curvature | Level | Share | Ranks | Error | Unit, Field(discriminator="kind")
]


class Nothing(Typed):
    """No experiment has a number to compare."""

    kind: Literal["nothing"] = "nothing"


class Reason(Typed):
    """Why records cannot decide the claim, or why its data cannot be had."""

    kind: Literal["reason", "unavailable"]
    why: str


class Listed(Typed):
    """Experiments by their titles: absent ones, those that show no SD, the place of an optimum in each sweep."""

    kind: Literal["not-at-tier", "not-trained", "not-evaluated", "not-run", "unknown", "lowest", "best"]
    titles: tuple[str, ...]


class Lost(Typed):
    """Replicas of one experiment that diverged, or finished without the metric."""

    kind: Literal["diverged", "lacking"]
    title: str
    lost: int
    of: int


class Unequal(Typed):
    """Bartlett's test says that the family's models vary unequally from fold to fold."""

    kind: Literal["unequal"] = "unequal"
    p: float


class Unlearned(Typed):
    """Models whose mean does not lie beyond the chance level, and where that level comes from."""

    kind: Literal["unlearned"] = "unlearned"
    titles: tuple[str, ...]
    why: str


class Rise(Typed):
    """By how much the last place of a sweep surely lies above the lowest one."""

    kind: Literal["rise"] = "rise"
    end: str
    lowest: str
    by: float
    interval: tuple[float, float]
    scale: Literal["difference", "log"]


class Units(Typed):
    """By what mean logarithm ours are above the printed numbers, read in the stated unit and in the other one."""

    kind: Literal["units"] = "units"
    models: int
    stated: str
    other: str
    off: tuple[float, float]


class Beats(Typed):
    """Published and our own better models that the lowest printed number would beat in the stated unit."""

    kind: Literal["beats"] = "beats"
    lowest: float
    unit: str
    beaten: dict[str, float]


Note = Annotated[
    Nothing | Reason | Listed | Lost | Unequal | Unlearned | Rise | Units | Beats, Field(discriminator="kind")
]


class Verdict(Typed):
    """What the run records say of a claim under one choice of every assumption."""

    answer: AnswerName
    comparisons: tuple[AnyComparison, ...] = ()
    method: str | None = None
    holds: bool | None = Field(
        None, description="whether every comparison lies on the claim's side, whatever its error"
    )
    replicas: int | None = Field(
        None, description="how many replicas of each experiment would show the paper's own effect"
    )
    notes: tuple[Note, ...] = ()

    @property
    def weakest(self) -> AnyComparison | None:
        """Return the comparison with the largest p, or the largest error; None without any.

        Those that cannot be judged count where no other is there.
        """
        comparisons = [one for one in self.comparisons if not getattr(one, "corrected", False)]
        return find_weakest([one for one in comparisons if one.answer != "not judged"] or comparisons)

    @property
    def rated(self) -> Estimated | None:
        """Return the weakest comparison for which the paper gives an effect."""
        return find_weakest([one for one in self.comparisons if isinstance(one, Estimated) and one.ratio])

    @property
    def sizes(self) -> dict[str, int]:
        """Count the comparisons of each size."""
        sizes = [one.size for one in self.comparisons if isinstance(one, Estimated)]
        return {size: sizes.count(size) for size in get_args(SizeName) if size in sizes}

    @property
    def size(self) -> str | None:
        """Return the size of all comparisons, "mixed" if they differ; None if none has one."""
        return ("mixed" if len(self.sizes) > 1 else next(iter(self.sizes))) if self.sizes else None


def find_weakest(comparisons: list[Any]) -> Any:
    """Return the comparison with the largest p; of errors the largest share of its tolerance; None without any."""

    def measure_weakness(one: Comparison) -> tuple[float, float]:
        if isinstance(one, Error):
            return 0.0, one.share
        return (1.0 if one.p is None else one.p), -getattr(one, "signed_estimate", 0.0)

    return max(comparisons, key=measure_weakness, default=None)


class Printed(Typed):
    """A number that the paper prints, in our unit, beside our mean, of perplexities the geometric one."""

    experiment: str
    title: str
    metric: str
    split: str
    unit: str | None
    ours: float
    paper: float
    percent: float | None
    deviations: float | None = Field(description="the gap in SDs of one replica; None where one replica shows none")
    n: int


class Judged(Verdict):
    """A verdict with what stands beside it: experiments, replicas of each, the paper's numbers beside ours."""

    experiments: tuple[str, ...]
    n: dict[str, int]
    counts: Counted = Field(description="what `n` counts: seeds or folds, or 'exact' where no chance is in it")
    levels: tuple[Printed, ...]


class CoPrimary(Judged):
    """The claim under an alternative setting of equal rank."""

    declared_afterwards: bool = Field(
        description="whether results of the setting as chosen were known when it was declared"
    )


class Alternative(Typed):
    """The claim under an alternative setting, by its weakest comparison."""

    answer: AnswerName
    holds: bool | None
    weakest: AnyComparison | None
    notes: tuple[Note, ...]
    before: AnswerName = Field(description="the answer as chosen on the same comparisons")
    flips: bool = Field(description="whether the answer changes")
    comparisons_judged: int = Field(description="how many of all `of` comparisons are judged")
    of: int
    experiments: tuple[str, ...] = Field(description="the experiments that were run under it")
    same: bool = Field(description="whether both answers compare the same numbers")


class Settings(Typed):
    """Under how many settings a claim holds, `of` all that judge it, and under which it does not."""

    holds: int
    of: int
    decided: bool = Field(description="whether it agrees under each of those under which it holds")
    chosen: bool = Field(description="whether it holds as chosen")
    against: tuple[str, ...]


class Decision(Judged):
    """What was found of one claim at one tier."""

    claim: str
    text: str = Field(description="what we compare, in at most 60 characters")
    evidence: Evidence
    kind: Kind | None
    budget: Literal["full", "reduced", "quick"] = Field(
        description="reduced or quick where these tiers trained the models"
    )
    afterwards: str | None = Field(description="what of the criterion was set when its numbers were known")
    was: tuple[Former, ...] = Field((), description="the criteria that it replaced")
    contradicted_by: str | None = Field(description="what the paper itself says against the claim")
    own_sds: AnswerName | None = Field(
        description="the answer where families lend no SD: Welch's test for seeds, the claim's own folds for folds"
    )
    settings: Settings | None
    co_primary: dict[str, CoPrimary]
    alternatives: dict[str, Alternative]


class Claims(RootModel[dict[str, dict[str, Decision]]]):
    """claims.json: what was found of every claim of every paper, from the run records of one tier alone."""


def dump_claims(decisions: Mapping[str, Mapping[str, Decision]]) -> str:
    """Return the text of claims.json."""
    return dump_json(
        {p: {k: _round_numbers(d.model_dump()) for k, d in claims.items()} for p, claims in decisions.items()}
    )


def read_claims(root: Path, tier: str) -> dict[str, dict[str, Decision]]:
    """Read results/<tier>/claims.json back.

    Returns:
        Every decision by paper and claim; none where the file is not there.

    Raises:
        UserError: The file is damaged, or of another version of Reprise.
    """
    path = root / "results" / tier / "claims.json"
    if not entry_exists(path):
        return {}
    try:
        return Claims.model_validate(json.loads(path.read_text(encoding="utf-8"))).root
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = f"key {'.'.join(map(str, first['loc'])) or '(top)'}: {first['msg']}"
    except (ValueError, RecursionError):
        reason = "no JSON"
    raise UserError(f"{path}: {reason}; run `python -m reprise verify --tier {tier}`")


def _round_numbers(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _round_numbers(entry) for key, entry in value.items()}
    return [_round_numbers(entry) for entry in value] if isinstance(value, list | tuple) else value
