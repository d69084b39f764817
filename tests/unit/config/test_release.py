"""The workflow of a release: what it may do, and which models it trains again."""

import json
import re
import subprocess
import sys

import pytest
from config_helpers import ROOT

from reprise.config.strict_yaml import load_yaml
from reprise.records.record import load_record

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
RELEASE = ROOT / ".github/workflows/release.yml"


@pytest.fixture(scope="module")
def rows():
    command = [sys.executable, str(ROOT / ".ci/main_claims.py")]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(process.stdout)["include"], process.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_commit_and_leave_no_credentials(path):
    content = load_yaml(path)
    assert content["permissions"] == {"contents": "read"}
    for job in content["jobs"].values():
        for step in job["steps"]:
            if uses := step.get("uses"):
                assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", uses)
            if uses and uses.startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
            # What GitHub fills in stands in `env`: a name with a quotation mark is no command.
            assert "${{" not in step.get("run", "").replace("${{ steps.", "")


def test_only_the_job_that_publishes_may_write_and_it_runs_nothing_of_the_project():
    jobs = load_yaml(RELEASE)["jobs"]
    assert [name for name, job in jobs.items() if "write" in job.get("permissions", {}).values()] == ["publish"]
    assert not any("checkout" in step.get("uses", "") for step in jobs["publish"]["steps"])
    assert {*jobs["publish"]["needs"]} == jobs.keys() - {"publish"}


def test_it_trains_the_models_that_main_claims_compare(rows):
    trained, left_out = rows
    names = {row["experiment"] for row in trained}
    assert {"rrntn/s-rnn-100", "rrntn/r-rntn-100-k100", "palindromes/lstm-t100-long", "books/grimm"} <= names
    assert not any(name.startswith("llrnn/") for name in names)  # of its text a part was never published
    assert "llrnn/rnn: " in left_out
    for row in trained:
        record = load_record(ROOT / row["record"])
        assert (f"{record['paper']}/{record['experiment']}", record["replica"]) == (row["experiment"], 0)
        assert row["record"].startswith(f"results/{row['tier']}/")
        assert (row["dataset"] == "") == (record["config"]["data"]["raw"] == {})
