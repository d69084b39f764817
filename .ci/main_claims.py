"""Print, as a matrix of GitHub's, the experiments that the documents' main claims rest on.

Each stands once, at the fullest tier that has its first record. One whose raw files nobody can download is named on
stderr instead.
"""

import json
import sys

from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.records.resolved import FULL, Resolved

TIERS = (FULL, "reduced")


def main_experiments(project: Project, experiments: list[Resolved]) -> list[Resolved]:
    """Return the experiments that the main claims compare.

    Args:
        project: The clone.
        experiments: All experiments of the tiers that count, the fullest tier first.
    """
    wanted = {
        f"{name}/{term.experiment}"
        for name, paper in project.papers.items()
        if paper.headline
        for _, term in paper.claims[paper.headline.claim].list_sides()
    }
    recorded = [one for one in experiments if one.id in wanted and (project.root / one.get_record_path(0)).is_file()]
    by_id = {one.id: one for one in reversed(recorded)}
    if lacking := wanted - by_id.keys():
        raise SystemExit(f"no record of {', '.join(sorted(lacking))}")
    return [by_id[name] for name in sorted(by_id)]


def can_be_fetched(project: Project, experiment: Resolved) -> bool:
    """Say whether every raw file of an experiment's data has an address."""
    if experiment.corpus is None:
        return True
    return all(file.url for file in project.find_dataset(experiment.config["data"]["dataset"]).files)


def main() -> None:
    """Print the matrix."""
    project = load_project()
    experiments = [one for tier in TIERS for one in resolve_tier(load_project(".", {"tier": tier}))]
    rows = main_experiments(project, experiments)
    for one in rows:
        if not can_be_fetched(project, one):
            print(f"{one.id}: left out, its data cannot be downloaded", file=sys.stderr)
    print(json.dumps({"include": [row_of(one) for one in rows if can_be_fetched(project, one)]}))


def row_of(one: Resolved) -> dict[str, str]:
    """Return what the release's jobs read of an experiment."""
    return {
        "experiment": one.id,
        "tier": one.tier,
        "name": f"{one.tier}-{one.id.replace('/', '-')}",
        "dataset": one.config["data"]["dataset"] if one.corpus else "",
        "record": one.get_record_path(0),
    }


if __name__ == "__main__":
    main()
