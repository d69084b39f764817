"""Ten times the records take ten times as long to show: what families say is worked out once, not once a member."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from config_helpers import ROOT, experiments, project

from reprise.config.project import Project
from reprise.records.record import compute_result_digest
from reprise.records.resolved import Resolved
from reprise.report.page.page import make_page
from reprise.report.parts.context import load_contexts
from reprise.report.render import render_displays

PAPERS = ("palindromes", "books")
TIMES = 10


def copy_records(root: Path, chosen: list[Resolved], times: int) -> list[Resolved]:
    """Write every record of the experiments so many times, each time as replicas of their own."""
    copies = []
    for experiment in chosen:
        more = replace(experiment, replicas=times * experiment.replicas)
        copies.append(more)
        for replica, path in enumerate(experiment.list_record_paths()):
            if not (ROOT / path).is_file():
                continue
            record = json.loads((ROOT / path).read_text(encoding="utf-8"))
            for i in range(times):
                number = replica + i * experiment.replicas
                record |= {"replica": number, "seed": number}
                record["result_sha256"] = compute_result_digest(record)
                target = root / more.get_record_path(number)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(json.dumps(record), encoding="utf-8")
    return copies


def measure(project: Project, chosen: list[Resolved]) -> float:
    """Return the seconds of this process that the tables and the page take."""
    start = time.process_time()
    contexts = load_contexts(project, chosen)
    render_displays(
        project,
        contexts,
        [f"{name}-{table}" for name in PAPERS for table in project.papers[name].tables if table != "claims"],
    )
    make_page(project, {"paper": contexts})
    return time.process_time() - start


@pytest.mark.slow
def test_ten_times_the_records_take_at_most_twelve_times_as_long(tmp_path):
    papers = {name: project().papers[name] for name in PAPERS}
    chosen = [e for e in experiments() if e.paper in PAPERS]
    seconds = []
    for times in (1, 1, TIMES):  # the first one imports and fills caches
        root = tmp_path / f"{len(seconds)}"
        copied = copy_records(root, chosen, times)
        (root / "config").symlink_to(ROOT / "config")
        seconds.append(measure(replace(project(), root=root, papers=papers), copied))
    assert seconds[2] <= 1.2 * TIMES * seconds[1]
