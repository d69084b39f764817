"""Write the JSON Schemas of config/config.yaml and config/papers/*.yaml to workflow/schemas/."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from reprise.files import write_if_changed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=Path("workflow/schemas"))


def run(given: argparse.Namespace) -> None:
    for name, text in schemas().items():
        write_if_changed(given.folder / f"{name}.schema.json", text)


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
