"""Which experiments a command means, also where config/ cannot be checked."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from reprise.config.resolved import Resolved, read_resolved
from reprise.config.strict_yaml import load_yaml
from reprise.errors import UserError, known


def chosen_experiments(tier: str, wanted: Collection[str], written: bool = False) -> list[Resolved]:
    """Experiments and variants of a tier in the order of the papers' files; of `wanted` papers and experiments only.

    Without pydantic, or without config/, and where `written` says so, they are those that `reprise resolve` or the
    pipeline wrote to results/<tier>/config/. Raises UserError for a name that is not there.
    """
    checked = [] if written else _from_config(tier)
    experiments = checked or resolved_files(tier)
    names = {e.id for e in experiments} | {e.paper for e in experiments}
    for name in wanted:
        if name not in names and checked:
            from reprise.cli.common import not_in_tier

            raise not_in_tier(tier, "paper or experiment", name, names)
        if name not in names:
            raise UserError(f"no paper or experiment '{name}' in the tier {tier}; {known(name, names)}")
    return [e for e in experiments if not wanted or {e.id, e.paper} & set(wanted)]


def _from_config(tier: str) -> list[Resolved]:
    if not Path("config/config.yaml").is_file():
        return []
    try:
        from reprise.cli.common import project_and_experiments
    except ModuleNotFoundError:
        return []
    return project_and_experiments(tier)[1]


def resolved_files(tier: str, root: Path = Path()) -> list[Resolved]:
    """What `reprise resolve` wrote, in the order of config/ as far as that is there; UserError where nothing is."""
    folder = root / "results" / tier / "config"
    found = [read_resolved(path) for path in sorted(folder.rglob("*.json"))]
    if not found:
        raise UserError(f"{folder}: no configurations; run `python -m reprise resolve --tier {tier}` where pydantic is")
    order = {name: i for i, name in enumerate(_file_order(root, {e.paper for e in found}))}
    # What config/ no longer names was left behind by an older one; variants come after all experiments of a paper.
    current = [e for e in found if not order or f"{e.paper}/{e.base}" in order]
    papers = list(dict.fromkeys(name.partition("/")[0] for name in order))
    return sorted(
        current,
        key=lambda e: (
            papers.index(e.paper) if papers else 0,
            e.assumption is not None,
            order.get(f"{e.paper}/{e.base}", 0),
            e.id,
        ),
    )


def _file_order(root: Path, papers: Collection[str]) -> list[str]:
    """Experiments as config/ lists them, which is read without being checked; empty where it is not there."""
    config = root / "config" / "config.yaml"
    listed = (load_yaml(config) or {}).get("papers", []) if config.is_file() else []
    found = []
    for paper in (name for name in listed if name in papers):
        content = load_yaml(root / "config" / "papers" / f"{paper}.yaml") or {}
        found += [f"{paper}/{name}" for name in content.get("experiments", {})]
    return found
