"""Which experiments a command means, also where config/ cannot be checked."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from reprise.config.strict_yaml import load_yaml
from reprise.errors import UserError, known
from reprise.records.resolved import TIERS, Resolved, read_resolved

_CONFIG = Path("config/config.yaml")


def chosen_experiments(
    tier: str, papers: Collection[str] = (), wanted: Collection[str] = (), written: bool = False
) -> list[Resolved]:
    """Experiments and variants of a tier in the order of the papers' files; of these papers only, and of the `wanted`
    ones only, where any are named.

    Without pydantic, or without config/, and where `written` says so, they are those that `reprise resolve` or the
    pipeline wrote to results/<tier>/config/. Raises UserError for a name that is not there, for a wanted one of another
    paper, and for a tier of which no configured paper has experiments.
    """
    checked = None if written else _from_config(tier)
    experiments = resolved_files(tier) if checked is None else checked
    _check_names(tier, "paper", papers, {e.paper for e in experiments}, bool(checked))
    _check_names(tier, "experiment", wanted, {e.id for e in experiments}, bool(checked))
    for name in wanted:
        if papers and name.partition("/")[0] not in papers:
            raise UserError(f"--experiment {name}: is not of --paper {' '.join(papers)}; leave one of the two away")
    of_papers = [e for e in experiments if not papers or e.paper in papers]
    return [e for e in of_papers if not wanted or e.id in wanted]


def _check_names(tier: str, kind: str, names: Collection[str], there: Collection[str], checked: bool) -> None:
    for name in names:
        if name not in there and checked:
            from reprise.cli.common import not_in_tier

            raise not_in_tier(tier, kind, name, there)
        if name not in there:
            raise UserError(f"no {kind} '{name}' in the tier {tier}; {known(name, there)}")


def _from_config(tier: str) -> list[Resolved] | None:
    """None where config/ cannot be checked."""
    if not _CONFIG.is_file():
        return None
    try:
        from reprise.cli.common import project_and_experiments
    except ModuleNotFoundError:
        return None
    project, found = project_and_experiments(tier)
    if not found:
        others = " or ".join(f"--tier {t}" for t in TIERS if t != tier and project_and_experiments(t)[1])
        remedy = f"write {others}" if others else "give their experiments tiers"
        raise UserError(
            f"{_CONFIG}: no paper of {', '.join(project.papers)} has experiments in the tier {tier}; {remedy}"
        )
    return found


def resolved_files(tier: str, root: Path = Path()) -> list[Resolved]:
    """What `reprise resolve` wrote, in the order of config/ as far as that is there; UserError where nothing is."""
    folder = root / "results" / tier / "config"
    found = [read_resolved(path) for path in sorted(folder.rglob("*.json"))]
    if not found:
        resolve = f"`python -m reprise resolve --tier {tier}`"
        if not (root / _CONFIG).is_file():
            remedy = f"run from the root of the clone, or put there what {resolve} wrote in one"
            raise UserError(f"{folder}: no configurations, and no {_CONFIG} either; {remedy}")
        raise UserError(f"{folder}: no configurations; run {resolve} where pydantic is")
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
    config = root / _CONFIG
    listed = (load_yaml(config) or {}).get("papers", []) if config.is_file() else []
    found = []
    for paper in (name for name in listed if name in papers):
        content = load_yaml(root / "config" / "papers" / f"{paper}.yaml") or {}
        found += [f"{paper}/{name}" for name in content.get("experiments", {})]
    return found
