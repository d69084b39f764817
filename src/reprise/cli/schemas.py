"""Write the JSON Schemas of config/config.yaml and config/papers/*.yaml to workflow/schemas/."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from reprise.errors import UserError
from reprise.files import write_if_changed

_FOLDER = Path("workflow/schemas")
_CONFIG = Path("config/config.yaml")

EXAMPLE = "reprise schemas"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="default: %(default)s")


def run(given: argparse.Namespace) -> None:
    if given.folder == _FOLDER and not _CONFIG.is_file():
        raise UserError(f"{_CONFIG}: no such file; run from the root of the clone, or name a folder with --folder")
    for name, text in schemas().items():
        path = given.folder / f"{name}.schema.json"
        print(f"{path}: {'written' if write_if_changed(path, text) else 'unchanged'}")


def schemas() -> dict[str, str]:
    """The schemas' texts by name. A paper's file may have families, and experiments that borrow from them."""
    from reprise.config.schema import Config, Paper

    paper = Paper.model_json_schema()
    paper["properties"]["families"] = {
        "type": "object",
        "additionalProperties": {"type": "object"},
        "description": "what experiments have in common: `like: <family>` in an experiment takes it over",
    }
    experiment = paper["$defs"]["Experiment"]
    experiment["properties"]["like"] = {
        "type": "string",
        "description": "the family that fills in what is not said here",
    }
    experiment["required"] = []
    kinds = {"config": Config.model_json_schema(), "paper": paper}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: json.dumps({**head, **kind}, indent=1, ensure_ascii=False) + "\n" for name, kind in kinds.items()}
