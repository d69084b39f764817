"""What figures and tables may read: values, counts, citations; and what is said of a file that is damaged."""

import gzip
import json

import pandas as pd
import pytest
from config_helpers import ROOT
from report_case import LAST, experiments, make_context, make_project, row

from reprise.errors import UserError
from reprise.evidence.stability import count_unstable
from reprise.report.parts.collected import METRIC_COLUMNS
from reprise.report.parts.context import Status, load_contexts

SAMPLE_KEYS = ("paper", "experiment", "variant", "replica", "status", "text")


def test_values_are_those_of_finished_replicas_and_status_counts_diverged_and_missing_ones_too(tmp_path):
    context = make_context(tmp_path)
    names = ("rnn-t10", "rnn-t10@weight-law=corrected", "rnn-t20")
    assert [context.values(name, LAST, "train").tolist() for name in names] == [[1.0, 0.1 + 0.2], [0.25], []]
    assert context.status("rnn-t10") == Status(finished=2, diverged=1, missing=17)
    assert context.status("rnn-t10@weight-law=corrected") == Status(1, 0, 19)
    assert context.total(["rnn-t10", "rnn-t20"]) == Status(2, 1, 37)
    # What trains nothing is not said to be untrained.
    absences = [context.status(name).absence for name in ("u14-output-weight-gradient", "rnn-t20")]
    absences.append(context.total(["u14-output-weight-gradient", "rnn-t20"]).absence)
    assert absences == ["not run yet", "not trained yet", "not trained yet"]


def test_runs_know_which_replicas_diverged_and_by_how_much_a_loss_rose(tmp_path):
    losses = [3.0, 2.0, 2.75, 1.5, 1.6]
    common = {"metric": "cross_entropy", "split": "valid", "axis": "epoch"}
    # The rows of a file need no order.
    rows = [row("rnn-t10", 0, x=i, value=y, **common) for i, y in reversed([*enumerate(losses)])]
    rows += [row("rnn-t10", 0, x=i, value=9.0 * i, **common | {"axis": "position"}) for i in range(3)]
    of = make_context(tmp_path, curves=rows).runs["rnn-t10"]
    assert [(one.finished, one.rise) for one in of.replicas] == [(True, 0.75), (True, None), (False, None)]
    (counted,) = count_unstable([of])
    assert (counted.trained, counted.diverged, counted.unstable) == (3, 1, 1)
    assert counted.title == "RNN, T = 10"


def test_citations_hold_whether_or_not_the_tier_runs_the_experiment(tmp_path):
    context = make_context(tmp_path, tier="quick")
    assert context.status("rnn-t20") == Status(0, 0, 0)
    assert context.cited_by("figure-1") == ["rnn-t10", "rnn-t20", "rnn-t30", "rnn-t50", "rnn-t100"]
    assert context.setting("rnn-t20", "data.length") == 20
    assert context.papers["rrntn"].replaced_dataset("s-rnn-100") == "synthetic"
    assert make_context(tmp_path, "rrntn").replaced_dataset("s-rnn-100") is None
    with pytest.raises(UserError, match=r"uva_curves\.csv: no such file"):
        context.original("uva_curves.csv")


ROW = ",".join(METRIC_COLUMNS).encode() + b"\nrrntn,a,,0,%b,,test,loss,1.5,1,%b,%b,cpu,hand,2,finished,abc,"
LINE = json.dumps(dict(zip(SAMPLE_KEYS, ("rrntn", "a", "", 0, "finished", "é"), strict=True))).encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "command", "content", "expected"),
    [
        ("metrics.csv", "collect", None, "no such file"),
        ("metrics.csv", "collect", b"", "is empty"),
        ("metrics.csv", "collect", b"paper,experiment\n", "no column variant, replica"),
        ("metrics.csv", "collect", ",".join(METRIC_COLUMNS).encode() + b"\nrrntn,a,,zero" + b"," * 14 + b"\n", "zero"),
        ("curves.csv.gz", "collect", b"not packed", "gzip"),
        ("curves.csv.gz", "collect", gzip.compress(b"x" * 999, mtime=0)[:-9], "end"),
        *(
            ("claims.json", "verify", text, "")
            for text in (b"{", b"[]", b"3", b'{"rrntn": 3}', b'{"rrntn": {"R1": []}}')
        ),
        ("metrics.csv", "collect", ROW % (b"9" * 30, b"4", b"7"), "large"),
        ("metrics.csv", "collect", ROW % (b"0", b"1e999", b"7"), ""),
        ("metrics.csv", "collect", ROW % (b"0", b"4", b"7.5"), ""),
        ("metrics.csv", "collect", b"\n".join([ROW % (b"0", b"4", b"7"), b"rrntn,a,,1,1"]), "row 2"),
        ("samples.jsonl", "collect", LINE + LINE[:-3], ""),
        ("samples.jsonl", "collect", LINE + b"[" * 100_000 + b"\n", ""),
        *(("samples.jsonl", "collect", text, "") for text in (b"{\n", b"3\n", b'{"paper": "rrntn"}\n[]\n')),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_line(tmp_path, name, command, content, expected):
    project = make_project(tmp_path)
    path = tmp_path / "results/paper" / name
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_contexts(project, experiments())["palindromes"].samples("rnn-t10")
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert expected in line
    assert line.endswith(f"run `python -m reprise {command} --tier paper`")
    assert "\n" not in line


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_collected_rows_that_are_cut_off_are_noticed(share, tmp_path):
    folder = tmp_path / "results/paper"
    project = make_project(tmp_path)
    rows = (ROOT / "results/paper/metrics.csv").read_bytes().splitlines(keepends=True)
    (folder / "metrics.csv").write_bytes(b"".join(rows))
    numbers = pd.read_csv(folder / "metrics.csv").metric.notna().sum()
    counts = {"gso": {"e": {"test.loss": {"mean": 1.0, "std": None, "n": int(numbers)}}}}
    (folder / "metrics.json").write_text(json.dumps(counts), encoding="utf-8")
    load_contexts(project, experiments())
    (folder / "metrics.csv").write_bytes(b"".join(rows[: int(share * len(rows))]))
    with pytest.raises(UserError, match=r"metrics\.csv: \d+ numbers, and \d+ in metrics\.json; run .*collect"):
        load_contexts(project, experiments())


def test_a_sample_without_a_key_that_a_table_reads_is_one_line(tmp_path):
    context = make_context(tmp_path)
    path = tmp_path / "results/paper/samples.jsonl"
    path.write_bytes(LINE.replace(b"rrntn", b"palindromes"))
    (sample,) = context.samples("a")
    assert sample["text"] == "é"
    with pytest.raises(UserError, match=rf"{path}: .* 'prompt'; run .*collect"):
        sample["prompt"]
