"""The content of config/config.yaml and config/papers/*.yaml, as typed models.

`python -m reprise schemas` writes the JSON Schemas in workflow/schemas/ from these classes; a test holds them equal.
"""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from reprise.catalogue.checks import CHECKS
from reprise.config.base import AnyText, DatasetId, Document, Id, Origin, Strict, Url
from reprise.config.claims import Arithmetic, Claim, Learned
from reprise.config.datasets import Dataset
from reprise.config.sections import DataSection, ModelSection, Replicas, Setting, TierEntry, TrainingSection
from reprise.records.resolved import ENGINES, TIERS, Keep
from reprise.units import Unit

Tier = Literal[TIERS]
Engine = Literal[ENGINES]
Scalar = bool | int | float | str


class CheckSection(Strict):
    """A check, and the error that it may have."""

    name: Literal[tuple(CHECKS)]
    tolerance: float = Field(ge=0)


class Reported(Strict):
    """A number that the paper prints, or that its author's logs hold, for one experiment."""

    metric: str
    split: str
    value: float | int | None
    origin: Origin = Field(alias="from")
    unit: Unit | None = Field(None, description="of an entropy, the unit that the paper states, where ours is another")
    note: str | None = None


class Weights(Strict):
    """What is kept of the trained models."""

    keep: Keep = Field(description="of which replicas: by default the first one, at the tier quick none")


class Experiment(Strict):
    """A trained configuration, or a check."""

    title: str
    model: ModelSection | None = None
    data: DataSection | None = None
    training: TrainingSection | None = None
    check: CheckSection | None = None
    precision: Setting[Literal["float32", "float64"]] | None = None
    weights: Weights | None = None
    tiers: dict[Tier, TierEntry]
    cited_by: list[Id] = []
    reported: list[Reported] = []
    note: str | None = None

    def find_reported(self, metric: str, split: str) -> Reported | None:
        """Return the paper's entry for a metric, or None; its value is None where the paper leaves it out."""
        return next((r for r in self.reported if (r.metric, r.split) == (metric, split)), None)

    def get_printed(self, metric: str, split: str) -> float | None:
        """Return the paper's number; None if it gives none."""
        reported = self.find_reported(metric, split)
        return None if reported is None or reported.value is None else float(reported.value)


class Display(Strict):
    """A figure or table: what the paper calls it, the function that draws it, and that function's options."""

    title: str
    place: str
    function: str
    caption: str
    options: dict[str, Any] = {}


class Alternative(Strict):
    """Another choice of an assumption: the settings it changes, on which experiments, in which tiers."""

    settings: dict[str, Scalar] = Field({}, description="settings that all its experiments share")
    settings_of: dict[Id, dict[str, Scalar]] = Field({}, description="settings of single experiments")
    experiments: list[Id] = []
    tiers: dict[Tier, TierEntry] = {}
    replicas_of: dict[Id, Replicas] = Field(
        {}, description="how many replicas single experiments have in place of the tier's"
    )
    metrics: dict[str, str] = Field(
        {},
        description="by a claim's metric another one of the same records; in place of all keys above, without training",
    )
    words: str | None = Field(None, description="how prose names it: with Mikolov's schedule")
    co_primary: bool = Field(
        False, description="whether it has the rank of the setting as chosen: claims are judged in full under it too"
    )
    declared_afterwards: bool = Field(
        False, description="whether results of the setting as chosen were known when it was declared"
    )
    learned: Learned | None = Field(None, description="what its models have to reach; else no claim is judged under it")

    def get_changes(self, experiment: str) -> dict[str, Scalar]:
        """Return the settings that are other ones in the variant of an experiment."""
        return {**self.settings, **self.settings_of.get(experiment, {})}

    def get_tier_entry(self, experiment: str, tier: str) -> TierEntry:
        """Return the entry of a tier, for the variant of an experiment."""
        entry = self.tiers[tier]
        return entry.model_copy(update={"replicas": self.replicas_of.get(experiment, entry.replicas)})


class Assumption(Strict):
    """A choice that the paper does not state."""

    title: str
    choice: str
    why: str
    source: str
    alternatives: dict[Id, Alternative] = {}
    unrun: str | None = Field(None, description="why no alternative is run, where there is none")


class Deviation(Strict):
    """A place where the project knowingly does otherwise than the paper."""

    title: str
    why: str
    data: bool = Field(False, description="whether other data stand in for the paper's")


class Remark(Strict):
    """A sentence among README's notes, for as long as these claims have these answers."""

    words: str
    while_: dict[str, str] = Field(
        alias="while", min_length=1, description="answers by claim, or by claim and setting: C1@clipping=norm-1"
    )


class Headline(Strict):
    """The claim that a reader asks for first: "<words> replicates (ours …; the paper …)"."""

    claim: str
    words: str
    remark: Remark | None = None


class Erratum(Strict):
    """Something in the paper that cannot be meant as it stands; numbers that do not agree are `arithmetic`."""

    place: str
    says: str = Field(description="what the paper says, or leaves out")
    right: str = Field(description="what is right, or has to be meant")
    source: str = Field(description="how that is known")


ANY = "any"
"""The key of a setting's words that stand for all of its values."""


class Paper(Strict):
    """A file of config/papers/."""

    paper: Id
    document: Document
    title: str
    name: AnyText = Field("", description="a few words for where the title is too long")
    headline: Headline | None = None
    authors: str
    year: int = Field(ge=1900, le=2100)
    link: Url | None = None
    summary: str
    symbols: dict[str, str] = Field({}, description="what symbols and short names of its models mean, in a few words")
    experiments: dict[Id, Experiment]
    figures: dict[Id, Display] = {}
    tables: dict[Id, Display] = {}
    assumptions: dict[Id, Assumption] = {}
    deviations: dict[Id, Deviation] = {}
    errata: list[Erratum] = []
    claims: dict[str, Claim] = {}
    arithmetic: dict[Id, Arithmetic] = {}
    wording: dict[str, dict[str, str]] = Field(
        {}, description="what tables call a setting, by its name and value; `any`: whatever the value, which is {}"
    )

    def list_choices(self) -> Iterator[tuple[str, str, Alternative]]:
        """Yield all alternatives: assumption, name, and the choice itself."""
        for assumption, entry in self.assumptions.items():
            for alternative, choice in entry.alternatives.items():
                yield assumption, alternative, choice

    def list_variants(self) -> Iterator[tuple[str, str, str]]:
        """Yield all variants, at whatever tier: name, experiment, alternative."""
        for assumption, alternative, choice in self.list_choices():
            for experiment in choice.experiments:
                yield f"{experiment}@{assumption}={alternative}", experiment, alternative


class RuleResources(Strict):
    """What a job of a kind asks for at first."""

    # No machine has a petabyte, and no job takes two years.
    mem_mb: int = Field(ge=1, le=10**9)
    runtime: int = Field(ge=1, le=10**6, description="minutes")


class Resources(Strict):
    """What jobs ask for, by kind."""

    fetch: RuleResources
    prepare: RuleResources
    train: RuleResources
    report: RuleResources


class Config(Strict):
    """The file config/config.yaml."""

    tier: Tier
    papers: list[Id] = Field(min_length=1)
    engine: Engine
    device: Literal["auto", "cpu", "cuda"]
    ldc_wsj: str | None = None
    datasets: dict[DatasetId, Dataset]
    resources: Resources
