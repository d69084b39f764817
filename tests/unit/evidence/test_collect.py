"""Collecting: current records alone, checked, the same bytes from the same records."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re

import pytest

from reprise.errors import UserError
from reprise.estimate.finished import records_of
from reprise.evidence import collect as collecting
from reprise.evidence.collect import collect
from reprise.records.record import Outcome, make_record, parse_record, read_record, write_record
from reprise.records.resolved import Resolved

RUN = {"engine": "reference", "device": "cpu", "wall_seconds": 1.5}


def experiment(name="e", value=1, replicas=2, **more):
    return Resolved("p", name, "quick", "t", replicas, {"x": value}, {}, None, **more)


def outcome(loss):
    metric = {"split": "test", "metric": "cross_entropy", "value": loss, "unit": "nats/token", "n": 10}
    curve = {"split": "valid", "metric": "cross_entropy", "unit": "nats/token", "axis": "epoch", "x": [1, 2]}
    return Outcome([metric], [curve | {"y": [loss + 1, loss]}], [{"step": 3, "text": "é|a"}])


def leave(tmp_path, which, replica, loss, diverged=None):
    record = make_record(which, replica, outcome(loss), 7, diverged, RUN)
    write_record(tmp_path / which.record_path(replica), record)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_files_hold_what_the_records_say(tmp_path):
    one = experiment()
    leave(tmp_path, one, 0, 1.0)
    leave(tmp_path, one, 1, 3.0)
    assert collect([one], tmp_path, tmp_path / "out") == (2, 2)
    metrics = rows((tmp_path / "out/metrics.csv").read_text())
    assert [(r["replica"], r["metric"], float(r["value"])) for r in metrics] == [
        ("0", "cross_entropy", 1.0),
        ("0", "perplexity", math.e),
        ("1", "cross_entropy", 3.0),
        ("1", "perplexity", math.exp(3)),
    ]
    assert metrics[0]["parameters"] == "7"
    assert metrics[0]["config_hash"] == one.config_hash
    curves = rows(gzip.decompress((tmp_path / "out/curves.csv.gz").read_bytes()).decode())
    assert [(r["axis"], r["x"], r["value"]) for r in curves[:2]] == [("epoch", "1", "2.0"), ("epoch", "2", "1.0")]
    summary = json.loads((tmp_path / "out/metrics.json").read_text())["p"]["e"]["test.cross_entropy"]
    assert summary == {"mean": 2.0, "std": math.sqrt(2), "n": 2}
    samples = [json.loads(line) for line in (tmp_path / "out/samples.jsonl").read_text().splitlines()]
    assert samples[0]["text"] == "é|a"
    collect([one], tmp_path, tmp_path / "again")
    for path in (tmp_path / "out").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_records_of_another_configuration_are_left_out_and_refused_under_the_current_hash(tmp_path):
    old, new = experiment(value=1), experiment(value=2)
    leave(tmp_path, old, 0, 1.0)
    assert collect([new], tmp_path, tmp_path / "out") == (0, 2)
    assert rows((tmp_path / "out/metrics.csv").read_text()) == []
    (tmp_path / old.record_path(0)).rename(tmp_path / new.record_path(0))
    with pytest.raises(UserError, match="config_hash"):
        collect([new], tmp_path, tmp_path / "out")


def test_a_record_copied_to_the_name_of_another_replica_is_refused(tmp_path):
    one = experiment()
    leave(tmp_path, one, 0, 1.0)
    copy = tmp_path / one.record_path(1)
    copy.write_bytes((tmp_path / one.record_path(0)).read_bytes())
    says = "key replica: the record is of replica 0, not of 1; remove the file and run the pipeline again"
    with pytest.raises(UserError, match=re.escape(f"{copy}: {says}")):
        collect([one], tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text[: len(text) // 2], "not a whole run record"),
        (lambda text: text.replace('"value": 1.0', '"value": 0.9'), "result_sha256"),
        (lambda text: "[]", "not a whole run record"),
    ],
)
def test_a_damaged_record_is_one_line_and_nothing_is_written(tmp_path, damage, says):
    one = experiment()
    leave(tmp_path, one, 0, 1.0)
    path = tmp_path / one.record_path(0)
    path.write_text(damage(path.read_text()))
    with pytest.raises(UserError, match=says) as caught:
        collect([one], tmp_path, tmp_path / "out")
    assert str(path) in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_diverged_replica_is_a_row_without_a_number(tmp_path):
    one = experiment(replicas=1)
    leave(tmp_path, one, 0, 1.0, diverged={"step": 5, "quantity": "training loss"})
    collect([one], tmp_path, tmp_path / "out")
    (row,) = rows((tmp_path / "out/metrics.csv").read_text())
    assert (row["status"], row["metric"], row["value"]) == ("diverged", "", "")


def test_variants_are_named_apart(tmp_path):
    variant = experiment("e@law=other", replicas=1, assumption="law", alternative="other")
    leave(tmp_path, variant, 0, 1.0)
    collect([variant], tmp_path, tmp_path / "out")
    row = rows((tmp_path / "out/metrics.csv").read_text())[0]
    assert (row["experiment"], row["variant"]) == ("e", "law=other")


def test_a_number_that_is_not_finite_is_a_divergence_and_of_a_check_a_mistake(tmp_path):
    one = experiment()
    leave(tmp_path, one, 0, float("nan"))
    record = read_record(tmp_path / one.record_path(0), one)
    assert (record["status"], record["diverged"]) == ("diverged", {"quantity": "test cross_entropy"})
    assert (record["metrics"], record["curves"]) == ([], [])
    check = Resolved("p", "c", "quick", "t", 1, {"check": {"name": "x"}}, {}, None)
    with pytest.raises(ValueError, match="JSON"):
        leave(tmp_path, check, 0, float("nan"))
    assert not (tmp_path / check.record_path(0)).exists()


def test_a_record_that_is_no_file_is_read_and_called_by_its_name(tmp_path):
    one, other = experiment(), experiment("other")
    leave(tmp_path, one, 0, 1.0)
    content = (tmp_path / one.record_path(0)).read_bytes()
    assert parse_record(content, "a.tgz: 0.json", one) == read_record(tmp_path / one.record_path(0), one)
    damaged = {
        content[:-3]: "not a whole run record",
        content.replace(b"1.0", b"2.0"): "key result_sha256",
        b"\xff": "not",
    }
    for wrong, says in damaged.items():
        with pytest.raises(UserError, match=f"^a.tgz: 0.json: {says}"):
            parse_record(wrong, "a.tgz: 0.json", one)
    with pytest.raises(UserError, match=r"^a.tgz: 0.json: key config_hash: the record is of p/e "):
        parse_record(content, "a.tgz: 0.json", other)


def test_where_one_file_cannot_be_made_none_is_written(tmp_path, monkeypatch):
    one = experiment(replicas=1)
    leave(tmp_path, one, 0, 1.0)

    def wrong(rows):
        raise TypeError

    monkeypatch.setattr(collecting, "_summary", wrong)
    with pytest.raises(TypeError):
        collect([one], tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("at", [0, 2])
def test_records_behind_a_link_that_leads_nowhere_are_not_called_missing(at, loop, tmp_path):
    """As on a disk that is not mounted; the link is the record itself or a folder on the way to it."""
    one = experiment(replicas=1)
    path = tmp_path / one.record_path(0)
    link = [path, *path.parents][at]
    link.parent.mkdir(parents=True)
    link.symlink_to(link if loop else tmp_path / "unmounted")
    for read in (lambda: collect([one], tmp_path, tmp_path / "out"), lambda: records_of(one, tmp_path)):
        with pytest.raises(UserError) as caught:
            read()
        assert str(caught.value) == (
            f"{path}: no such record: the link {link} leads nowhere (to {link.readlink()}); "
            "mount what it is to lead to, or remove the link"
        )
    assert not (tmp_path / "out").exists()


def test_a_record_that_is_missing_or_a_folder_is_told(tmp_path):
    with pytest.raises(UserError, match="none.json: .*run the pipeline"):
        read_record(tmp_path / "none.json")
    with pytest.raises(UserError, match=": a folder, not a run record; move it away and run the pipeline again"):
        read_record(tmp_path)
