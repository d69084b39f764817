"""What figures and tables may read: values, counts, citations; and what is said of a file that is damaged."""

import pytest
from report_case import LAST, experiments, make_context, make_project, row

from reprise.errors import UserError
from reprise.evidence.stability import count_unstable
from reprise.report.parts.context import Status, load_contexts
from reprise.report.render import render_displays


def test_values_are_those_of_finished_replicas_and_status_counts_diverged_and_missing_ones_too(tmp_path):
    context = make_context(tmp_path)
    names = ("rnn-t10", "rnn-t10@weight-law=corrected", "rnn-t20")
    assert [context.get_values(name, LAST, "train").tolist() for name in names] == [[1.0, 0.1 + 0.2], [0.25], []]
    assert context.get_status("rnn-t10") == Status(finished=2, diverged=1, missing=17)
    assert context.get_status("rnn-t10@weight-law=corrected") == Status(1, 0, 19)
    assert context.sum_status(["rnn-t10", "rnn-t20"]) == Status(2, 1, 37)
    # What trains nothing is not said to be untrained.
    absences = [context.get_status(name).missing_reason for name in ("u14-output-weight-gradient", "rnn-t20")]
    absences.append(context.sum_status(["u14-output-weight-gradient", "rnn-t20"]).missing_reason)
    assert absences == ["not run yet", "not trained yet", "not trained yet"]


def test_runs_know_which_replicas_diverged_and_by_how_much_a_loss_rose(tmp_path):
    losses = [3.0, 2.0, 2.75, 1.5, 1.6]
    common = {"metric": "cross_entropy", "split": "valid", "axis": "epoch"}
    rows = [row("rnn-t10", 0, x=i, value=y, **common) for i, y in enumerate(losses)]
    rows += [row("rnn-t10", 0, x=i, value=9.0 * i, **common | {"axis": "position"}) for i in range(3)]
    runs = make_context(tmp_path, curves=rows).runs["rnn-t10"]
    assert [(one.finished, one.rise) for one in runs.replicas] == [(True, 0.75), (True, None), (False, None)]
    (counted,) = count_unstable([runs])
    assert (counted.trained, counted.diverged, counted.unstable) == (3, 1, 1)
    assert counted.title == "RNN, T = 10"


def test_citations_hold_whether_or_not_the_tier_runs_the_experiment(tmp_path):
    context = make_context(tmp_path, tier="quick")
    assert context.get_status("rnn-t20") == Status(0, 0, 0)
    assert context.list_cited_experiments("figure-1") == ["rnn-t10", "rnn-t20", "rnn-t30", "rnn-t50", "rnn-t100"]
    assert context.get_setting("rnn-t20", "data.length") == 20
    assert context.papers["rrntn"].find_replaced_dataset("s-rnn-100") == "synthetic"
    assert make_context(tmp_path, "rrntn").find_replaced_dataset("s-rnn-100") is None
    with pytest.raises(UserError, match=r"uva_curves\.csv: no such file"):
        context.read_reference("uva_curves.csv")


@pytest.mark.parametrize("content", ["{", "[]", "3", '{"rrntn": 3}', '{"rrntn": {"R1": []}}'])
def test_claims_that_cannot_be_read_are_one_line(tmp_path, content):
    project = make_project(tmp_path)
    path = tmp_path / "results/paper/claims.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=rf"^{path}: .*run `python -m reprise verify --tier paper`$"):
        load_contexts(project, experiments())


def test_a_damaged_record_is_refused_before_anything_is_drawn(tmp_path):
    project = make_project(tmp_path)
    contexts = load_contexts(project, experiments())
    (path,) = (tmp_path / "results/paper/runs/palindromes/rnn-t10").glob("0-*.json")
    path.write_text(path.read_text(encoding="utf-8").replace("0.5", "0.75"), encoding="utf-8")
    with pytest.raises(UserError, match=rf"{path}: key result_sha256 "):
        render_displays(project, contexts, ["palindromes-claims", "palindromes-convergence"])
    assert not (tmp_path / "results/paper/tables").exists()


def test_a_sample_without_a_key_that_a_table_reads_is_one_line(tmp_path):
    context = make_context(tmp_path, samples=[{"id": "palindromes/rnn-t10", "replica": 0, "text": "é"}])
    (sample,) = context.list_samples("rnn-t10")
    assert (sample["text"], sample["replica"]) == ("é", 0)
    with pytest.raises(UserError, match=r"palindromes/rnn-t10: a sample lacks the key 'prompt'; "):
        sample["prompt"]


@pytest.mark.parametrize(("metric", "split"), [("perplexty", "test"), ("perplexity", "tets")])
def test_a_misspelt_metric_or_split_of_ones_own_display_is_one_line_with_the_right_name(tmp_path, metric, split):
    context = make_context(tmp_path, "rrntn")
    for read in (context.get_values, context.get_curve_points):
        with pytest.raises(UserError, match=r"^s-rnn-100\.(metric|split): .* did you mean '(perplexity|test)'"):
            read("s-rnn-100", metric, split)
    assert context.get_values("lstm-254", metric, split).size == 0  # nothing has run, so nothing is missed


def test_nobody_reads_the_collected_files_back(tmp_path):
    """They are for others: what they say changes no table."""
    project = make_project(tmp_path)
    for name in ("metrics.csv", "samples.jsonl", "metrics.json", "curves.csv.gz"):
        (tmp_path / "results/paper" / name).write_bytes(b"damaged")
    assert len(load_contexts(project, experiments())["palindromes"].get_values("rnn-t10", LAST, "train")) == 2
