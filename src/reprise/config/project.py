"""Reads config/ as a whole and turns whatever is wrong with it into one line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise import environment
from reprise.config import ldc_wsj
from reprise.config.datasets import NamedDataset
from reprise.config.mistakes import Places, name_source, parse_model, suggest_key
from reprise.config.schema import Config, Paper
from reprise.config.strict_yaml import load_yaml
from reprise.errors import UserError, require_known, shorten
from reprise.files import entry_exists

CONFIG = Path("config/config.yaml")
PAPERS = Path("config/papers")


@dataclass(frozen=True)
class Project:
    """The configuration of a clone: `root` is the folder that holds config/, data/ and results/."""

    root: Path
    config: Config
    papers: dict[str, Paper]
    places: Mapping[str, Places] = field(default_factory=dict)
    """By paper, where its experiments' keys stand, for messages."""

    def locate_key(self, paper: str, *keys: str) -> str:
        """Return where a key of a paper's file was written, as messages begin: "<file>: key <dotted key>"."""
        return f"{self.root / PAPERS / paper}.yaml: key {self.places.get(paper, Places()).locate_key(*keys)}"

    def find_dataset(self, dataset: str) -> NamedDataset:
        """Return the files of a dataset of the configuration; a folder `ldc_wsj` takes the place of Mikolov's files.

        Raises:
            UserError: That folder is not what it should be.
        """
        named_dataset = NamedDataset(name=dataset, **dict(self.config.datasets[dataset]))
        if self.config.ldc_wsj and named_dataset.prepare == ldc_wsj.REPLACED_PREPARATION:
            return ldc_wsj.replace_files(named_dataset, self.root / self.config.ldc_wsj)
        return named_dataset


def load_project(root: Path | str = ".", overrides: Mapping[str, Any] | None = None) -> Project:
    """Read and check config/config.yaml (with `overrides` laid over it) and the papers that it names.

    The environment variable REPRISE_LDC_WSJ stands for the key `ldc_wsj`, unless `overrides` has it. By this variable
    the pipeline tells its jobs what `--config` said.
    """
    root = Path(root)
    path, overrides = root / CONFIG, overrides or {}
    content = _require_mapping(load_yaml(path), path)
    if folder := environment.get_ldc_wsj():
        content["ldc_wsj"] = folder
    config = parse_model(Config, content, path)
    if overrides:  # the file is checked by itself too: else an override would hide its mistake in that key
        config = parse_model(Config, {**content, **overrides}, path, overrides=overrides)
    source = name_source(path, "papers", overrides)
    papers, places = {}, {}
    for name in config.papers:
        file = root / PAPERS / f"{name}.yaml"
        if name in papers:
            raise UserError(f"{source}: key papers: '{name}' stands twice; keep one of the two")
        if not entry_exists(file):
            names = ", ".join(sorted(p.stem for p in (root / PAPERS).glob("*.yaml")))
            remedy = f"write it, or name one of {names}" if names else "write it"
            raise UserError(f"{source}: key papers: no file {file}; {remedy}")
        papers[name], places[name] = read_paper(file)
        for other_name, paper in papers.items():
            # Parts of one document have its link.
            if paper.document == papers[name].document and paper.link != papers[name].link:
                raise UserError(
                    f"{file}: key document: '{paper.document}' is that of {other_name}, whose link is another; "
                    "write a number that is free"
                )
        if papers[name].paper != name:
            raise UserError(f"{file}: key paper: says '{papers[name].paper}'; write '{name}', as the file is called")
    return Project(root, config, papers, places)


def read_paper(path: Path) -> tuple[Paper, Places]:
    """Read one paper's file, `like: <family>` filled in from `families`, and where its experiments' keys stand."""
    content = _require_mapping(load_yaml(path), path)
    for key in content:
        if key not in {*Paper.model_fields, "families"}:
            raise UserError(f"{path}: key {key}: {suggest_key(key)}")
    families = _require_mapping(content.pop("families", {}), path, "families")
    experiments = _require_mapping(content.get("experiments"), path, "experiments")
    for name, family in families.items():
        if "like" in _require_mapping(family, path, f"families.{name}"):
            raise UserError(f"{path}: key families.{name}.like: a family takes nothing from another; write it out")
    family_names: dict[str, str] = {}
    merged = {}
    for name, written in experiments.items():
        entry = dict(_require_mapping(written, path, f"experiments.{name}"))
        if "like" in entry:
            family = family_names[name] = str(entry.pop("like"))
            require_known(family, families, f"{path}: key experiments.{name}.like", "family")
            entry = merge_mappings(_require_mapping(families[family], path, f"families.{family}"), entry)
        merged[name] = entry
    places = Places(experiments, family_names)
    return parse_model(Paper, {**content, "experiments": merged}, path, places), places


def merge_mappings(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Lay `over` over `base`: mappings merge key by key, a setting (a mapping with `value`) replaces as a whole."""
    result = dict(base)
    for key, value in over.items():
        base_value = result.get(key)
        is_nested = isinstance(base_value, dict) and isinstance(value, dict) and "value" not in value
        result[key] = merge_mappings(base_value, value) if is_nested else value
    return result


def _require_mapping(value: Any, path: Path | str, key: str = "(top)") -> dict[str, Any]:
    if value is None and key == "(top)":
        raise UserError(f"{path}: the file is empty; write keys and values")
    if not isinstance(value, dict):
        raise UserError(f"{path}: key {key}: should be a mapping, not {shorten(value)}; write keys and values")
    return value
