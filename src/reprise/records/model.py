"""The pydantic models of run records and evaluation records, by which everything that reads records checks them.

Training writes records without it (`reprise.records.record`), since it has to run where pydantic is not installed.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import (
    AfterValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    TypeAdapter,
    ValidationError,
)
from typing_extensions import TypedDict

from reprise.errors import UserError
from reprise.records import evaluation
from reprise.records.record import REMEDY
from reprise.records.resolved import ENGINES

Engine = Literal[ENGINES[1:]]
"""Engines that train a model. In records "numpy" stands for counting and "none" for a check."""
FormerEngine = Literal["hand", "layerwise"]
"""Engines that records name and that were removed: the readable model trains about as fast."""

Count = Annotated[int, Field(ge=0, lt=2**63)]
Size = Annotated[int, Field(ge=1, lt=2**63)]
Seconds = Annotated[float, Field(ge=0)]
_ID = "[a-z0-9][a-z0-9-]*"
PaperId = Annotated[str, StringConstraints(pattern=f"^{_ID}$")]
ExperimentId = Annotated[str, StringConstraints(pattern=f"^{_ID}(@[a-z0-9-]+=[a-z0-9-]+)?$")]
Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")]
"""A text that a terminal prints as it stands."""
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
ConfigHash = Annotated[str, StringConstraints(pattern="^[0-9a-f]{12}$")]
CommitHash = Annotated[str, StringConstraints(pattern="^[0-9a-f]{40}([0-9a-f]{24})?$")]

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
_QUOTED_LENGTH = 40
"""Characters of a wrong value that are quoted."""


def _require_unique(*keys: str) -> AfterValidator:
    """Make a check that no two items of a list have the same values of these keys."""

    def check(items: list[Any]) -> list[Any]:
        names = Counter(" ".join(str(item[key]) for key in keys) for item in items)
        if duplicates := [name for name, count in names.items() if count > 1]:
            raise ValueError(f"{duplicates[0]} stands twice")
        return items

    return AfterValidator(check)


def _require_equal_lengths(reference: str, *keys: str) -> AfterValidator:
    """Make a check that the lists under these keys are as long as the one under the key `reference`."""

    def check(item: Any) -> Any:
        for key in keys:
            if len(item[key]) != len(item[reference]):
                raise ValueError(f"{key} has {len(item[key])} values, and {reference} has {len(item[reference])}")
        return item

    return AfterValidator(check)


class Metric(TypedDict):
    """One number of one split; `n` counts what it is a mean over."""

    __pydantic_config__ = _STRICT
    split: Line
    metric: Line
    value: float
    unit: Line
    n: Size | None


class Curve(TypedDict):
    """The points of one metric of one split along an axis."""

    __pydantic_config__ = _STRICT
    split: Line
    metric: Line
    unit: Line
    axis: Line
    x: list[float]
    y: list[float]


class Translations(TypedDict):
    """The translations of a split, with what sacrebleu makes a score of: a number a sentence in every list."""

    __pydantic_config__ = _STRICT
    kind: Literal["translations"]
    split: Line
    lowercase: bool
    tokenisation: Line
    decoder: Line
    texts: Annotated[list[str], Field(min_length=1)]
    source_words: list[Count]
    hypothesis_words: list[Count]
    reference_words: list[Count]
    matches_1: list[Count]
    matches_2: list[Count]
    matches_3: list[Count]
    matches_4: list[Count]


class Code(TypedDict):
    """The packages of code that trained, and the digest of their files."""

    __pydantic_config__ = _STRICT
    packages: list[Line]
    sha256: Sha256


class Run(TypedDict):
    """The circumstances of a training. None of them is part of the result."""

    __pydantic_config__ = _STRICT
    engine: Engine | FormerEngine | Literal["numpy", "none"]
    device: Line
    wall_seconds: Seconds
    threads: NotRequired[Size]
    peak_memory_mib: NotRequired[Seconds]
    peak_gpu_memory_mib: NotRequired[Seconds]
    resumed: NotRequired[Count]
    stack_replicas: NotRequired[Size]
    versions: NotRequired[dict[Line, Line]]
    platform: NotRequired[Line]
    cpu_capability: NotRequired[Line]
    commit: NotRequired[CommitHash | None]
    dirty: NotRequired[bool | None]
    code: NotRequired[Code]
    sources: NotRequired[dict[Line, Sha256]]
    weights_sha256: NotRequired[Sha256]


_COUNTS = ("source_words", "hypothesis_words", "reference_words", "matches_1", "matches_2", "matches_3", "matches_4")


_TRANSLATIONS_TAG, _OTHER_TAG = "(translations)", "(other)"


def _choose_sample_tag(sample: Any) -> str:
    """Say which of the two models of a sample is meant."""
    is_translations = isinstance(sample, dict) and sample.get("kind") == "translations"
    return _TRANSLATIONS_TAG if is_translations else _OTHER_TAG


Sample = Annotated[
    Annotated[Translations, _require_equal_lengths("texts", *_COUNTS), Tag(_TRANSLATIONS_TAG)]
    | Annotated[dict[str, Any], Tag(_OTHER_TAG)],
    Discriminator(_choose_sample_tag),
]
"""A text that a model wrote. Numbers are made of translations alone; the others have keys of their own."""


class RunRecord(TypedDict):
    """The record of one replica."""

    __pydantic_config__ = _STRICT
    schema: Literal[1]
    paper: PaperId
    experiment: ExperimentId
    replica: Count
    seed: Count
    fold: Count | Line | None
    config: dict[str, Any]
    config_hash: ConfigHash
    status: Literal["finished", "diverged"]
    diverged: dict[Line, Any] | None
    parameters: Count | None
    metrics: Annotated[list[Metric], _require_unique("metric", "split")]
    curves: Annotated[
        list[Annotated[Curve, _require_equal_lengths("y", "x")]], _require_unique("metric", "split", "axis")
    ]
    samples: list[Sample]
    result_sha256: Sha256
    run: Run


def _check_consistency(record: RunRecord) -> RunRecord:
    """Check what the keys say of each other."""
    status = "diverged" if record["diverged"] else "finished"
    if record["status"] != status:
        raise ValueError(f"status: {record['status']!r}, not {status!r}, as the key diverged says")
    if record["diverged"] and record["metrics"]:
        raise ValueError("metrics: a replica that diverged has none")
    if record["seed"] != record["replica"]:
        raise ValueError(f"seed: {record['seed']}, not {record['replica']}, as the key replica says")
    return record


RUN_RECORD: TypeAdapter[RunRecord] = TypeAdapter(Annotated[RunRecord, AfterValidator(_check_consistency)])


class Weights(TypedDict):
    """The file of weights that was evaluated: its checksum, its size, and the epoch or step that it is of."""

    __pydantic_config__ = _STRICT
    sha256: Sha256
    mib: Seconds
    at: dict[Line, Count]


class Measured(Metric):
    """A number of a split that the readable model measured, and what the training's record says.

    `relative_difference`: measured minus recorded, as a share of the recorded; None where that is 0 or missing.
    """

    __pydantic_config__ = _STRICT
    recorded: float | None
    relative_difference: float | None


class LossByCount(TypedDict):
    """The mean loss of the words of a split whose count in training lies in one band."""

    __pydantic_config__ = _STRICT
    split: Line
    side: Literal["read", "predicted"]
    least: Literal[evaluation.BAND_STARTS]
    n: Size
    value: float


class EvaluationRecord(TypedDict):
    """What the readable model measured of one replica's weights.

    `record_sha256` and `trained` are those of the training's run record, None where it was not at hand.
    """

    __pydantic_config__ = _STRICT
    schema: Literal[1]
    paper: PaperId
    experiment: ExperimentId
    replica: Count
    config_hash: ConfigHash
    weights: Weights
    corpus_sha256: Sha256 | None
    record_sha256: Sha256 | None
    metrics: Annotated[list[Measured], _require_unique("metric", "split")]
    losses_by_count: Annotated[list[LossByCount], _require_unique("split", "side", "least")]
    result_sha256: Sha256
    trained: Run | None
    run: Run


EVALUATION_RECORD: TypeAdapter[EvaluationRecord] = TypeAdapter(EvaluationRecord)


def check_record(record: dict[str, Any], name: Path | str, remedy: str = REMEDY) -> RunRecord:
    """Check every value of a record by the model.

    Args:
        record: The content of a file, as `reprise.records.record.decode_record` gives it.
        name: Where it comes from.
        remedy: What errors end with.

    Returns:
        The same content: the model would turn whole numbers into fractions.

    Raises:
        UserError: The line names the first key that holds what training never writes.
    """
    return _validate(RUN_RECORD, record, name, remedy)


def check_evaluation(record: dict[str, Any], name: Path | str) -> EvaluationRecord:
    """Check every value of an evaluation record by the model. See `check_record`."""
    return _validate(EVALUATION_RECORD, record, name, evaluation.REMEDY)


def _validate(model: TypeAdapter[Any], record: dict[str, Any], name: Path | str, remedy: str) -> Any:
    try:
        model.validate_python(record)
    except ValidationError as error:
        raise UserError(f"{name}: key {_describe_mistake(error, record)}; {remedy}") from None
    return record


def _describe_mistake(error: ValidationError, record: dict[str, Any]) -> str:
    """Describe the first mistake, as "metrics[0].value: input should be a valid number, not null"."""
    first = error.errors(include_url=False)[0]
    key, content = "", record
    for part in first["loc"]:
        if isinstance(content, list) and isinstance(part, int):
            key, content = f"{key}[{part}]", content[part]
        # A location also names the model that was chosen among several, which is no key.
        elif isinstance(content, dict) and part not in (_TRANSLATIONS_TAG, _OTHER_TAG):
            key, content = f"{key}.{part}".removeprefix("."), content.get(part)
    if first["type"] == "value_error":
        return f"{key}: {first['ctx']['error']}".removeprefix(": ")
    message = first["msg"][0].lower() + first["msg"][1:]
    return f"{key}: {message}" if first["type"] == "missing" else f"{key}: {message}, not {_quote(content)}"


def _quote(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _QUOTED_LENGTH else f"{text[:_QUOTED_LENGTH]}…"
