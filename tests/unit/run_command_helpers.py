"""`reprise run` in a folder of resolved configurations and corpora, as on a machine that was lent for an hour."""

from __future__ import annotations

from pathlib import Path

from experiment_helpers import SENTENCES, experiment

from reprise import cli


def write(experiments):
    for one in experiments:
        path = Path(one.config_path())
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one.to_json(), encoding="utf-8")


def run(*more):
    return cli.main(["run", "--tier", "quick", "--corpora", "corpora", "--output", "out", *more])


def records(which, folder="out"):
    return [path for path in which.record_paths() if (Path(folder) / path).exists()]


def small(name, **changes):
    return experiment(name, SENTENCES, "data/corpora/c.npz", **{"max_epochs": 1, **changes})
