"""Which tokens count: said of every number that is a mean over tokens, and true of what the trainings count."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from config_helpers import ROOT
from test_collect import RUN, experiment, rows

from reprise.catalogue.protocols import PROTOCOLS
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.evidence.collect import collect, counted_by, is_over_tokens
from reprise.records.record import Outcome, make_record, write_record

SLIDING = {"scheme": "sliding", "window": 8, "batch_size": 20}


def of(dataset, data, protocol, training):
    config = {
        "data": {"dataset": dataset, "options": data, "raw": {}},
        "training": {"protocol": protocol, "options": training},
    }
    return replace(experiment(), config=config)


def test_it_is_said_of_every_experiment_that_predicts():
    project = load_project(ROOT, {"tier": "reduced"})
    preparations = {name: dataset.prepare for name, dataset in project.config.datasets.items()}
    for resolved in resolve_tier(project):
        said = counted_by(resolved, preparations)
        predicts = not resolved.is_check and PROTOCOLS[resolved.config["training"]["protocol"]].predicted
        assert bool(said) == bool(predicts), resolved.id
        assert "{" not in said


def test_it_hangs_on_the_options():
    said = partial(counted_by, preparations={"french": "ud_french", "lines": "wsj_characters"})
    by_rows, by_words = (of("french", {"accounting": a}, "windows", SLIDING) for a in ("rows", "words"))
    assert said(by_rows).startswith("lower-cased words and ranges, and three @nil a sentence")
    assert said(by_words) == "lower-cased words; predicted: all but the first 8 of a split"
    streams = of("french", {"accounting": "words"}, "windows", {**SLIDING, "scheme": "streams"})
    assert said(streams).endswith("of the training text fewer than 20 at its end are left out")
    assert said(of("lines", {"tokens": "bigrams"}, "line-epochs", {})).startswith("pairs of letters")


def test_metrics_over_tokens_carry_it_and_no_others(tmp_path):
    given = ("test cross_entropy nats/token", "test accuracy_long share", "valid best_epoch epoch", "test spaces share")
    keys = [row.split() for row in given]
    metrics = [{"split": s, "metric": m, "value": 1.0, "unit": unit, "n": 10} for s, m, unit in keys]
    one = of("french", {"accounting": "words"}, "windows", SLIDING)
    for replica, more in ((0, {}), (1, {"epoch": 2, "quantity": "training loss"})):
        record = make_record(one, replica, Outcome([] if more else metrics, [], []), 7, more or None, RUN)
        write_record(tmp_path / one.record_path(replica), record)
    collect([one], tmp_path, tmp_path / "out", partial(counted_by, preparations={"french": "ud_french"}))
    found = rows((tmp_path / "out/metrics.csv").read_text())
    said = "lower-cased words; predicted: all but the first 8 of a split"
    expected = dict.fromkeys(("cross_entropy", "perplexity", "accuracy_long"), said) | {"best_epoch": "", "spaces": ""}
    assert {r["metric"]: r["counted"] for r in found} == {**expected, "": ""}
    assert not is_over_tokens({})
