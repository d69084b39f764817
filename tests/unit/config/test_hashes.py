"""The configuration hashes of the committed experiments are fixed: the names of run records hold them.

`python tests/unit/config/test_hashes.py` adds experiments that are not in hashes.csv, and changes no line of it.
"""

import csv
from pathlib import Path

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.records.resolved import TIERS

ROOT, FILE = Path(__file__).parents[3], Path(__file__).with_name("hashes.csv")


def read_hashes() -> dict[tuple[str, str], str]:
    """The listed hashes by tier and experiment."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {(row["tier"], row["experiment"]): row["hash"] for row in csv.DictReader(file)}


def resolve_hashes() -> dict[tuple[str, str], str]:
    """The hashes of the configuration as it is now, by tier and experiment."""
    project = load_project(ROOT)
    return {(tier, e.id): e.config_hash for tier in TIERS for e in resolve_tier(project, tier)}


def test_a_committed_experiment_has_the_hash_of_its_records():
    now = resolve_hashes()
    assert {key: now.get(key) for key in read_hashes()} == read_hashes()


if __name__ == "__main__":
    listed = resolve_hashes() | (read_hashes() if FILE.exists() else {})
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("tier", "experiment", "hash"))
        writer.writerows((*key, value) for key, value in sorted(listed.items()))
