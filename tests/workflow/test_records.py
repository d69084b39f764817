"""A run record that is cut short, altered or of something else is refused by name, and nothing is collected from it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from project import Project

from reprise.records.record import result_digest
from reprise.records.resolved import hash_of

pytestmark = pytest.mark.pipeline


def cut_short(text: str) -> str:
    return text[: len(text) // 2]


def without_a_key(text: str) -> str:
    record = json.loads(text)
    del record["metrics"]
    return json.dumps(record)


def another_number(text: str) -> str:
    record = json.loads(text)
    record["metrics"][0]["value"] += 0.25
    return json.dumps(record)


def another_setting(text: str) -> str:
    record = json.loads(text)
    record["config"]["training"]["options"]["steps"] = 31
    record["result_sha256"] = result_digest(record)
    return json.dumps(record)


def another_configuration(text: str) -> str:
    record = json.loads(text)
    record["config"]["training"]["options"]["steps"] = 31
    record["config_hash"] = hash_of(record["config"])
    record["result_sha256"] = result_digest(record)
    return json.dumps(record)


def another_replica(text: str) -> str:
    record = json.loads(text)
    record["replica"] = 1
    record["result_sha256"] = result_digest(record)
    return json.dumps(record)


def not_a_number(text: str) -> str:
    record = json.loads(text)
    record["metrics"][0]["value"] = float("nan")
    return json.dumps(record)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (cut_short, "not a whole run record"),
        (without_a_key, "not a whole run record"),
        (not_a_number, "not a whole run record"),
        (another_number, "key result_sha256 does not fit the content, which was altered"),
        (another_setting, "key config_hash is not the hash of the key config"),
        (another_configuration, "key config_hash: the record is of digits/lstm-t5 with "),
        (another_replica, "key replica: the record is of replica 1, not of 0"),
    ],
)
def test_a_bad_record_is_refused(finished: Project, damage: Callable[[str], str], words: str) -> None:
    record = finished.records("digits/lstm-t5/*.json")[0]
    record.write_text(damage(record.read_text(encoding="utf-8")), encoding="utf-8")
    results = finished.root / "results/quick"
    before = (results / "metrics.csv").read_bytes()
    done = finished.reprise("collect", "--tier", "quick")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"reprise: error: {record.relative_to(finished.root)}: {words}")
    assert "remove the file and run the pipeline again" in done.stderr
    assert (results / "metrics.csv").read_bytes() == before


def test_records_of_old_configurations_are_left_out(finished: Project) -> None:
    """They stay on the disk; what is collected is of the configuration as it is now."""
    finished.edit("config/papers/digits.yaml", "    model: {name: lstm}", "    model: {name: elman}")
    done = finished.reprise("collect", "--tier", "quick")
    assert done.returncode == 0, done.stderr
    assert "5 of 6 run records collected" in done.stdout
    table = (finished.root / "results/quick/metrics.csv").read_text(encoding="utf-8")
    assert "lstm-t5" not in table
    assert finished.records("digits/lstm-t5/*.json")
