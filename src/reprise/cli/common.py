"""What several commands share: where the clone is, and which experiments are meant."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.config.resolved import Resolved
from reprise.config.tiers import TIERS
from reprise.errors import UserError, known


def add_tier(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", choices=TIERS, help="default: the tier of config/config.yaml")


def project_and_experiments(tier: str | None) -> tuple[Project, list[Resolved]]:
    """The clone of the current folder and the experiments of a tier."""
    project = load_project(".", {"tier": tier} if tier else None)
    return project, resolve_tier(project)


def find_experiment(experiments: list[Resolved], name: str) -> Resolved:
    """The experiment called "<paper>/<experiment>"."""
    by_id = {e.id: e for e in experiments}
    if name not in by_id:
        raise UserError(f"no experiment '{name}' in this tier; {known(name, by_id)}")
    return by_id[name]


def mirror() -> Path | None:
    """The folder of REPRISE_MIRROR, where raw files are looked for before they are downloaded."""
    value = os.environ.get("REPRISE_MIRROR")
    if not value:
        return None
    if not Path(value).is_dir():
        raise UserError(f"REPRISE_MIRROR: no folder {value}; name a folder that holds the datasets, or unset it")
    return Path(value)
