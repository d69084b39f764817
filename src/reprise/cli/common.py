"""What several commands share: where the clone is, and which experiments are meant."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.errors import UserError, known
from reprise.records.resolved import TIERS, Resolved


def add_tier(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tier", choices=TIERS, help="default: the tier of config/config.yaml")


def project_and_experiments(tier: str | None) -> tuple[Project, list[Resolved]]:
    """The clone of the current folder and the experiments of a tier."""
    project = load_project(".", {"tier": tier} if tier else None)
    return project, resolve_tier(project)


def find_experiment(tier: str | None, name: str) -> tuple[Project, Resolved]:
    """The clone of the current folder and the experiment or variant called "<paper>/<experiment>" of a tier."""
    project, experiments = project_and_experiments(tier)
    by_id = {e.id: e for e in experiments}
    if name in by_id:
        return project, by_id[name]
    raise not_in_tier(project.config.tier, "experiment", name, by_id)


def not_in_tier(tier: str, kind: str, name: str, names: Iterable[str]) -> UserError:
    """What to say of a `kind` that is not in a tier, where it may be in another; `names` are those that are."""
    others = [t for t in TIERS if t != tier and any(name in (e.id, e.paper) for e in project_and_experiments(t)[1])]
    if others:
        return UserError(f"'{name}' is not in the tier {tier}; write {' or '.join(f'--tier {t}' for t in others)}")
    return UserError(f"no {kind} '{name}' in the tier {tier}; {known(name, names)}")


def mirror() -> Path | None:
    """The folder of REPRISE_MIRROR, where raw files are looked for before they are downloaded."""
    value = os.environ.get("REPRISE_MIRROR")
    if not value:
        return None
    if not Path(value).is_dir():
        raise UserError(f"REPRISE_MIRROR: no folder {value}; name a folder that holds the datasets, or unset it")
    return Path(value)
