"""Collecting: current records alone, checked, the same bytes from the same records, with what each number counts."""

import csv
import gzip
import io
import json
import math
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import pytest
from config_helpers import experiments, project

from reprise.catalogue.protocols import PROTOCOLS
from reprise.errors import UserError
from reprise.evidence import collect as collecting
from reprise.evidence.collect import collect, describe_counted_tokens
from reprise.evidence.load import make_replica
from reprise.records.record import Outcome, make_curve, make_metric, make_record, read_record, write_record
from reprise.records.resolved import Resolved

RUN = {"engine": "reference", "device": "cpu", "wall_seconds": 1.5}
SLIDING = {"scheme": "sliding", "window": 8, "batch_size": 20}


def experiment(name="e", replicas=2, config=None, **more):
    return Resolved("p", name, "quick", "t", replicas, config or {"x": 1}, {}, None, **more)


def make_experiment(dataset, data, protocol, training):
    data = {"dataset": dataset, "options": data, "raw": {}}
    return experiment(config={"data": data, "training": {"protocol": protocol, "options": training}})


def leave(tmp_path, resolved, replica, loss, diverged=None):
    curves = [make_curve("valid", "cross_entropy", "nats/token", "epoch", [1, 2], [loss + 1, loss])]
    rows = [make_metric("test", "cross_entropy", loss, "nats/token", 10)]
    record = make_record(resolved, replica, Outcome(rows, curves, [{"step": 3, "text": "é|a"}]), 7, diverged, RUN)
    write_record(tmp_path / resolved.get_record_path(replica), record)
    return tmp_path / resolved.get_record_path(replica)


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
    assert (metrics[0]["parameters"], metrics[0]["config_hash"]) == ("7", one.config_hash)
    curves = rows(gzip.decompress((tmp_path / "out/curves.csv.gz").read_bytes()).decode())
    assert [(r["axis"], r["x"], r["value"]) for r in curves[:2]] == [("epoch", "1", "2.0"), ("epoch", "2", "1.0")]
    summary = json.loads((tmp_path / "out/metrics.json").read_text())["p"]["e"]["test.cross_entropy"]
    assert summary == {"mean": 2.0, "std": math.sqrt(2), "n": 2}
    samples = [json.loads(line) for line in (tmp_path / "out/samples.jsonl").read_text().splitlines()]
    assert samples[0]["text"] == "é|a"
    collect([one], tmp_path, tmp_path / "again")
    for path in (tmp_path / "out").iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_an_infinite_perplexity_makes_the_mean_infinite(tmp_path):
    one = experiment(replicas=3)
    for replica, loss in enumerate((1.0, 800.0, 2.0)):
        leave(tmp_path, one, replica, loss)
    collect([one], tmp_path, tmp_path / "out")
    numbers = [
        float(r["value"]) for r in rows((tmp_path / "out/metrics.csv").read_text()) if r["metric"] == "perplexity"
    ]
    assert numbers == [math.e, math.inf, math.exp(2)]
    summary = json.loads((tmp_path / "out/metrics.json").read_text())["p"]["e"]
    assert summary["test.perplexity"] == {"mean": "infinite", "log_std": None, "n": 3}
    assert summary["test.cross_entropy"]["mean"] == pytest.approx(803 / 3)
    # Claims take such a replica for a diverged one.
    records = [read_record(tmp_path / one.get_record_path(replica), one, replica) for replica in range(3)]
    assert [make_replica(record).finished for record in records] == [True, False, True]


def test_the_mean_of_perplexities_is_geometric_and_its_deviation_that_of_the_logarithm(tmp_path):
    one = experiment(replicas=2)
    for replica, loss in enumerate((1.0, 2.0)):
        leave(tmp_path, one, replica, loss)
    collect([one], tmp_path, tmp_path / "out")
    summary = json.loads((tmp_path / "out/metrics.json").read_text())["p"]["e"]
    assert summary["test.perplexity"] == pytest.approx({"mean": math.exp(1.5), "log_std": math.sqrt(0.5), "n": 2})


def test_diverged_replicas_and_variants_and_no_records_of_another_configuration(tmp_path):
    variant = experiment("e@law=other", replicas=1, assumption="law", alternative="other")
    leave(tmp_path, variant, 0, 1.0, diverged={"step": 5, "quantity": "training loss"})
    assert collect([variant], tmp_path, tmp_path / "out") == (1, 1)
    (row,) = rows((tmp_path / "out/metrics.csv").read_text())
    cells = [row[key] for key in ("experiment", "variant", "status", "metric", "value")]
    assert cells == ["e", "law=other", "diverged", "", ""]
    assert collect([replace(variant, config={"x": 2})], tmp_path, tmp_path / "out") == (0, 1)
    assert rows((tmp_path / "out/metrics.csv").read_text()) == []


def test_a_number_that_is_not_finite_is_a_divergence_and_of_a_check_a_mistake(tmp_path):
    one = experiment()
    record = read_record(leave(tmp_path, one, 0, float("nan")), one)
    assert (record["status"], record["diverged"]) == ("diverged", {"quantity": "test cross_entropy"})
    assert (record["metrics"], record["curves"]) == ([], [])
    check = experiment("c", config={"check": {"name": "x"}})
    with pytest.raises(ValueError, match="JSON"):
        leave(tmp_path, check, 0, float("nan"))
    assert not (tmp_path / check.get_record_path(0)).exists()


def test_where_one_file_cannot_be_made_none_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "_summarise", Mock(side_effect=TypeError))
    with pytest.raises(TypeError):
        collect([experiment()], tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("at", [0, 2])
def test_records_behind_a_link_that_leads_nowhere_are_not_called_missing(at, loop, tmp_path):
    """As on a disk that is not mounted; the link is the record itself or a folder on the way to it."""
    one = experiment(replicas=1)
    path = tmp_path / one.get_record_path(0)
    link = [path, *path.parents][at]
    link.parent.mkdir(parents=True)
    link.symlink_to(link if loop else tmp_path / "unmounted")
    with pytest.raises(UserError) as caught:
        collect([one], tmp_path, tmp_path / "out")
    assert str(caught.value).startswith(f"{path}: no such record: the link {link} leads nowhere")
    assert not (tmp_path / "out").exists()


def test_which_tokens_count_is_said_of_every_experiment_that_predicts_and_hangs_on_its_options():
    preparations = {name: dataset.prepare for name, dataset in project().config.datasets.items()}
    for resolved in experiments("reduced"):
        description = describe_counted_tokens(resolved, preparations)
        predicts = not resolved.is_check and PROTOCOLS[resolved.config["training"]["protocol"]].predicted
        assert bool(description) == bool(predicts), resolved.id
        assert "{" not in description
    streams = make_experiment("french", {"accounting": "words"}, "windows", {**SLIDING, "scheme": "streams"})
    by_rows = make_experiment("french", {"accounting": "rows"}, "windows", SLIDING)
    descriptions = [describe_counted_tokens(one, {"french": "ud_french"}) for one in (streams, by_rows)]
    assert (
        ["@nil" in one for one in descriptions]
        == ["fewer than 20 at its end" not in one for one in descriptions]
        == [False, True]
    )


def test_metrics_over_tokens_carry_it_and_no_others(tmp_path):
    specifications = (
        "test cross_entropy nats/token",
        "test accuracy_long share",
        "valid best_epoch epoch",
        "test spaces share",
    )
    metrics = [make_metric(split, name, 1.0, unit, 10) for split, name, unit in map(str.split, specifications)]
    one = make_experiment("french", {"accounting": "words"}, "windows", SLIDING)
    leave(tmp_path, one, 1, 1.0, diverged={"epoch": 2, "quantity": "training loss"})
    write_record(tmp_path / one.get_record_path(0), make_record(one, 0, Outcome(metrics), 7, None, RUN))
    collect([one], tmp_path, tmp_path / "out", partial(describe_counted_tokens, preparations={"french": "ud_french"}))
    metric_rows = rows((tmp_path / "out/metrics.csv").read_text())
    description = "lower-cased words; predicted: all but the first 8 of a split"
    expected = dict.fromkeys(("cross_entropy", "perplexity", "accuracy_long"), description) | {
        "best_epoch": "",
        "spaces": "",
    }
    assert {r["metric"]: r["counted"] for r in metric_rows} == {**expected, "": ""}
