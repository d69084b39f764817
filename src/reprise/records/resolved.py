"""The resolved configuration of one experiment: all that training reads, in plain dataclasses.

`config_hash` is taken over what decides the numbers: model, hyperparameters, protocol, precision, preparation options
and raw-file checksums. Engine, device, threads, tier and the number of replicas are no part of it.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from reprise.errors import UserError
from reprise.files import dump_canonical_json

ENGINES = ("auto", "reference", "fused", "grouped", "stacked")
"""Names of engines, of which a model has some; `auto` is the fastest of these."""
TIERS = ("quick", "reduced", "paper")
"""Protocols of different length, not different hardware."""
FULL = "paper"
"""The tier that does what the papers did."""
Keep = Literal["all", "first", "none"]
"""Replicas of an experiment whose weights are kept. Those of all experiments would take some 15 GB."""


def compute_hash(value: Any) -> str:
    """Compute the first 12 hex digits of SHA-256 over canonical JSON."""
    return hashlib.sha256(dump_canonical_json(value).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Resolved:
    """One experiment (or variant) of one tier.

    `config` holds what decides the numbers: {model: {name, options}, data: {dataset, options, raw},
    training: {protocol, options}, precision}, or {check, tolerance} for a check. `origins` says where each setting
    comes from, by dotted name.
    """

    paper: str
    experiment: str
    tier: str
    title: str
    replicas: int
    config: dict[str, Any]
    origins: dict[str, str]
    corpus: str | None
    engine: str = "auto"
    device: str = "auto"
    assumption: str | None = None
    alternative: str | None = None
    weights: Keep | None = None
    defaults: dict[str, list[str]] = field(default_factory=dict)
    """By section, the options whose value is the default: they are in `config`, and no part of the hash."""

    @property
    def hashed_config(self) -> dict[str, Any]:
        """Return `config` without the options whose value is the default."""
        config = dict(self.config)
        for section, names in self.defaults.items():
            options = {name: value for name, value in config[section]["options"].items() if name not in names}
            config[section] = {**config[section], "options": options}
        return config

    @property
    def config_hash(self) -> str:
        """Return the hash in the file names of the records."""
        return compute_hash(self.hashed_config)

    @property
    def id(self) -> str:
        """Return paper and experiment, "rrntn/s-rnn-100"."""
        return f"{self.paper}/{self.experiment}"

    @property
    def is_check(self) -> bool:
        """Return whether an error is computed and nothing trained."""
        return "check" in self.config

    @property
    def base(self) -> str:
        """Return the experiment that this one is, or is a variant of."""
        return self.experiment.split("@")[0]

    def get_config_path(self) -> str:
        """Return where the resolved configuration is written."""
        return f"results/{self.tier}/config/{self.id}.json"

    def get_record_path(self, replica: int) -> str:
        """Return where the record of a replica is written."""
        return f"results/{self.tier}/runs/{self.id}/{replica}-{self.config_hash}.json"

    def get_weights_path(self, replica: int) -> str:
        """Return where the weights of a replica are written."""
        return f"results/{self.tier}/weights/{self.id}/{replica}-{self.config_hash}.safetensors"

    def find_weights(self, replica: int, record: Path) -> Path:
        """Say where the weights of a replica lie whose record is at `record`.

        Beside the folder of records where the pipeline put it there; else beside the record itself.
        """
        place = Path(self.get_record_path(replica)).parts
        if record.parts[-len(place) :] == place:
            return record.parents[len(place) - 1] / self.get_weights_path(replica)
        return record.with_suffix(".safetensors")

    def find_record(self, replica: int, weights: Path) -> Path:
        """Say where the record of a replica lies whose weights are at `weights`: the way back of `find_weights`."""
        place = Path(self.get_weights_path(replica)).parts
        if weights.parts[-len(place) :] == place:
            return weights.parents[len(place) - 1] / self.get_record_path(replica)
        return weights.with_suffix(".json")

    def get_evaluation_path(self, replica: int) -> str:
        """Return where the evaluation record of a replica is written."""
        return f"results/{self.tier}/evaluations/{self.id}/{replica}-{self.config_hash}.json"

    def keeps_weights(self, replica: int) -> bool:
        """Return whether a replica's weights are kept: as it is set, else the first one's, but in the quick tier."""
        keep = self.weights or ("none" if self.tier == "quick" else "first")
        return keep == "all" or (keep == "first" and replica == 0)

    def list_record_paths(self) -> list[str]:
        """Return where the records of all replicas are written."""
        return [self.get_record_path(replica) for replica in range(self.replicas)]

    def to_json(self) -> str:
        """Return the content of the file of the resolved configuration."""
        content = asdict(self) | {"config_hash": self.config_hash}
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def read_resolved(path: Path | str) -> Resolved:
    """Read the resolved configuration that the graph (or `reprise resolve`) wrote to `path`.

    Raises:
        UserError: There is none, or it is damaged.
        OSError: It cannot be read.
    """
    remedy = "run `python -m reprise resolve` to write it anew"
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        stated = content.pop("config_hash")
        resolved = Resolved(**content)
        computed = resolved.config_hash
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {remedy}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UserError(f"{path}: not a resolved configuration; {remedy}") from None
    if stated != computed:
        raise UserError(f"{path}: key config_hash is not the hash of 'config'; {remedy}")
    return resolved
