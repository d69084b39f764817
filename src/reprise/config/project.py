"""Reads config/ as a whole and turns whatever is wrong with it into one line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from reprise.config.schema import Config, Paper
from reprise.config.strict_yaml import load_yaml
from reprise.data import ldc_wsj
from reprise.data.spec import DatasetSpec
from reprise.errors import UserError, known

CONFIG = Path("config/config.yaml")
PAPERS = Path("config/papers")
LDC_WSJ = "REPRISE_LDC_WSJ"

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Project:
    """The configuration of a clone: `root` is the folder that holds config/, data/ and results/."""

    root: Path
    config: Config
    papers: dict[str, Paper]

    def spec(self, dataset: str) -> DatasetSpec:
        """What a dataset of the configuration is made of; a folder `ldc_wsj` takes the place of Mikolov's files.

        Raises `UserError` where that folder is not what it should be.
        """
        spec = self.config.datasets[dataset].spec(dataset)
        if self.config.ldc_wsj and spec.prepare == ldc_wsj.REPLACES:
            return ldc_wsj.in_place_of(spec, self.root / self.config.ldc_wsj)
        return spec


def load_project(root: Path | str = ".", overrides: Mapping[str, Any] | None = None) -> Project:
    """Reads and checks config/config.yaml (with `overrides` laid over it) and the papers that it names.

    The environment variable REPRISE_LDC_WSJ stands for the key `ldc_wsj`, unless `overrides` has it: that is how the
    pipeline tells its jobs what it was told with `--config`.
    """
    root = Path(root)
    content = _mapping(load_yaml(root / CONFIG), root / CONFIG)
    source: Path | str = root / CONFIG
    if os.environ.get(LDC_WSJ):
        content = {**content, "ldc_wsj": os.environ[LDC_WSJ]}
    if overrides:
        content = {**content, **overrides}
        source = f"{root / CONFIG} (with --config {' '.join(f'{k}={v}' for k, v in overrides.items())})"
    config = _parse(Config, content, source, {})
    papers = {}
    for name in config.papers:
        path = root / PAPERS / f"{name}.yaml"
        if not path.is_file():
            known = sorted(p.stem for p in (root / PAPERS).glob("*.yaml"))
            raise UserError(f"{source}: key papers: no file {path}; write it, or name one of {', '.join(known)}")
        papers[name] = load_paper(path)
        if papers[name].paper != name:
            raise UserError(f"{path}: key paper: says '{papers[name].paper}'; write '{name}', as the file is called")
    return Project(root, config, papers)


def load_paper(path: Path) -> Paper:
    """Reads one paper's file; `like: <family>` in an experiment is filled in from `families`."""
    content = _mapping(load_yaml(path), path)
    families = _mapping(content.pop("families", {}), path, "families")
    experiments = _mapping(content.get("experiments"), path, "experiments")
    borrowed: dict[str, str] = {}
    merged = {}
    for name, entry in experiments.items():
        entry = dict(_mapping(entry, path, f"experiments.{name}"))
        family = entry.pop("like", None)
        if family is not None:
            if family not in families:
                raise UserError(
                    f"{path}: key experiments.{name}.like: no family '{family}'; {known(str(family), families)}"
                )
            borrowed[name] = family
            entry = merge(_mapping(families[family], path, f"families.{family}"), entry)
        merged[name] = entry
    locate = {"experiments": (experiments, borrowed)}
    return _parse(Paper, {**content, "experiments": merged}, path, locate)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid over `base`, mappings merged key by key; a setting (a mapping with `value`) replaces as a whole."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and "value" not in value:
            value = merge(old, value)
        result[key] = value
    return result


def _parse(kind: type[M], content: Any, path: Path | str, locate: dict[str, Any]) -> M:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise UserError(_one_line(error, path, content, locate)) from None


def _one_line(error: ValidationError, path: Path | str, content: Any, locate: dict[str, Any]) -> str:
    first = error.errors(include_url=False)[0]
    # pydantic adds the names of union members to the location; only what is really in the file is shown.
    keys: list[str] = []
    value: Any = content
    for part in first["loc"]:
        inside = isinstance(value, Mapping) and part in value or isinstance(value, list) and isinstance(part, int)
        last = part is first["loc"][-1]
        if inside:
            value = value[part]
        if inside or (last and first["type"] in {"missing", "extra_forbidden"}):
            keys.append(str(part))
    if len(keys) > 2 and keys[0] in locate:
        written, borrowed = locate[keys[0]]
        # What is missing is missing where the mapping around it stands.
        there = keys[2:-1] if first["type"] == "missing" else keys[2:]
        if keys[1] in borrowed and not _holds(written[keys[1]], there):
            keys = ["families", borrowed[keys[1]], *keys[2:]]
    key = ".".join(keys) or "(top)"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{path}: key {key}: {_remedy(first)}{more}"


def _holds(entry: Any, keys: list[str]) -> bool:
    for key in keys:
        if not isinstance(entry, Mapping) or key not in entry:
            return False
        entry = entry[key]
    return True


def _remedy(first: Any) -> str:
    match first["type"]:
        case "extra_forbidden":
            return "unknown key; remove it, or mend its spelling"
        case "missing":
            return "missing; add it"
        case "string_pattern_mismatch":
            return f"{first['input']!r} is not of the form {first['ctx']['pattern']}; write it so"
        case "literal_error":
            return f"{first['input']!r} is not known; write one of {first['ctx']['expected']}"
        case "model_type" | "dict_type":
            return f"{first['input']!r} should be a mapping (for a setting: {{value: …, from: …}}); write it so"
    return f"{first['msg'].lower()}, not {first['input']!r}; mend the value"


def _mapping(value: Any, path: Path | str, key: str = "(top)") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{path}: key {key}: should be a mapping, not {value!r}; write keys and values")
    return value
