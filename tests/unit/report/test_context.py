"""What figures and tables may read: values, counts, citations; and what is said of a file that is damaged."""

from __future__ import annotations

import gzip

import pytest
from report_case import TIER, make_context, make_project, resolve

from reprise.errors import UserError
from reprise.report.parts.collected import METRIC_COLUMNS
from reprise.report.parts.context import Status, load_contexts


def test_values_are_those_of_finished_replicas_to_the_last_digit(tmp_path):
    context = make_context(tmp_path)
    assert context.values("rnn-t10", "last_ten_accuracy", "train").tolist() == [1.0, 0.1 + 0.2]
    assert context.values("rnn-t10@width=nine", "last_ten_accuracy", "train").tolist() == [0.25]
    assert context.values("rnn-t20", "last_ten_accuracy", "train").tolist() == []


def test_status_counts_finished_diverged_and_missing_replicas(tmp_path):
    context = make_context(tmp_path)
    assert context.status("rnn-t10") == Status(finished=2, diverged=1, missing=0)
    assert context.status("rnn-t10@width=nine") == Status(1, 0, 0)
    assert context.status("ptb-a") == Status(2, 0, 1)
    assert context.status("lstm-t30") == Status(0, 0, 0)
    assert context.total(["rnn-t10", "ptb-a", "rnn-t20"]) == Status(4, 1, 4)
    # What trains nothing is not said to be untrained.
    absences = [context.status(name).absence for name in ("waiting", "rnn-t20")]
    absences += [context.total(["waiting", other]).absence for other in ("rnn-t20", "identity")]
    assert absences == ["not run yet", "not trained yet", "not trained yet", "not run yet"]


def test_citations_hold_whether_or_not_the_tier_runs_the_experiment(tmp_path):
    context = make_context(tmp_path)
    assert context.cited_by("figure-1") == ["rnn-t10", "rnn-t20", "lstm-t30"]
    assert context.setting("lstm-t30", "data.length") == 30
    assert context.replaced_dataset("ptb-b") == "synthetic"
    assert context.replaced_dataset("ptb-a") is None


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("metrics.csv", None, "no such file"),
        ("metrics.csv", b"", "is empty"),
        ("metrics.csv", b"paper,experiment\n", "no column variant, replica"),
        ("metrics.csv", ",".join(METRIC_COLUMNS).encode() + b"\ntoy,a,,zero" + b"," * 14 + b"\n", "zero"),
        ("curves.csv.gz", b"not packed", "gzip"),
        ("curves.csv.gz", gzip.compress(b"x" * 999, mtime=0)[:-9], "end"),
    ],
)
def test_a_collected_file_that_cannot_be_read_is_told_in_one_line(tmp_path, name, content, expected):
    project = make_project(tmp_path)
    path = tmp_path / "results" / TIER / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_contexts(project, resolve())
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert expected in line
    assert line.endswith("run `python -m reprise collect --tier paper`")
    assert "\n" not in line


def test_an_original_that_is_gone_is_told_by_its_file(tmp_path):
    context = make_context(tmp_path)
    assert context.original("uva_palindrome_curves.csv").step.tolist() == [0, 5, 0, 5]
    (context.reference / "uva_palindrome_curves.csv").unlink()
    with pytest.raises(UserError, match=r"uva_palindrome_curves\.csv: no such file"):
        context.original("uva_palindrome_curves.csv")


@pytest.mark.parametrize("content", ["{", "[]", "3", '{"sizes": 3}', '{"sizes": {"S1": []}}'])
def test_a_file_that_holds_no_claims_is_told_in_one_line(tmp_path, content):
    project = make_project(tmp_path)
    path = tmp_path / "results" / TIER / "claims.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_contexts(project, resolve())
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert line.endswith("run `python -m reprise verify --tier paper`")
    assert "\n" not in line


@pytest.mark.parametrize("content", ["{\n", "3\n", '{"paper": "toy"}\n[]\n'])
def test_a_file_that_holds_no_samples_is_told_in_one_line(tmp_path, content):
    context = make_context(tmp_path)
    path = context.folder / "samples.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"samples\.jsonl: .*; run `python -m reprise collect --tier paper`"):
        context.samples("rnn-t10")
