"""Numbers on cards and in the list of experiments: named, with their units and intervals; curves told in words."""

from __future__ import annotations

import math

from test_report_case import METRICS, PAPER, make_context, make_project, metric, resolve, row

from reprise.report.parts.context import load_contexts, of_experiment
from reprise.report.page.cards import metrics
from reprise.report.page.overview import experiment_rows
from reprise.report.page.page import page
from reprise.report.parts.rounding import even
from reprise.report.page.cards import described


def card(context, name):
    experiment = context.resolved(name)
    return {m["metric"]: m for m in metrics(context, experiment, of_experiment(context.metrics, name))}


def test_both_numbers_have_as_many_decimals():
    assert even(29.6666667, 3.2145) == "29.7 ± 3.2"
    assert even(141.0, 0.3) == "141.00 ± 0.30"
    assert even(1234.0, 12.0) == "1,234 ± 12"
    assert even(443790.25, 6400.0) == "443,790 ± 6,400"
    assert even(1e-9, 2e-10) == "1e−09 ± 2e−10"
    assert (even(1234567.0, None), even(None, 1.0), even(0.1234567, None)) == ("1,234,567", "–", "0.12346")


def test_a_card_names_its_metrics_and_gives_the_interval_of_their_means(tmp_path):
    more = [
        *(metric("ptb-a", i, "cross_entropy", 4.9 + i / 10, "test", "nats/token") for i in range(2)),
        *(metric("ptb-a", i, "vocabulary", 10000.0, "all", "words") for i in range(2)),
    ]
    context = make_context(tmp_path, metrics=[*METRICS, *more])
    found = card(context, "ptb-a")
    assert found["test perplexity"]["ours"] == "141 ± 13"
    assert found["test cross-entropy"]["ours"] == f"4.95 ± {12.7062 * 0.05:.2f}"
    assert found["test cross-entropy"]["ours_unit"] == f"4.95 ± {12.7062 * 0.05:.2f} nats/token"
    # Counted, and the same in every replica.
    assert found["vocabulary"]["ours"] == "10,000"
    # One replica of another family has nothing to go by.
    assert card(context, "ptb-b")["test perplexity"]["ours"] == "30"


def test_the_interval_of_a_share_of_replicas_is_exact_and_that_of_a_mean_share_ends_at_1(tmp_path):
    reached = [metric("rnn-t10", i, "reached_full_accuracy", float(i > 0), "train", "share") for i in range(3)]
    shares = [metric("rnn-t10", i, "last_ten_accuracy", share, "train", "share") for i, share in enumerate((1, 0.9, 1))]
    found = [m["ours"] for m in card(make_context(tmp_path, metrics=[*reached, *shares]), "rnn-t10").values()]
    assert found == ["0.67 (0.09–0.99)", f"0.97 ({29 / 30 - 4.302653 / 30:.2f}–1.00)"]


def test_the_list_of_experiments_has_units_on_both_sides(tmp_path):
    entry = PAPER.experiments["ptb-a"]
    value = {"metric": "cross_entropy", "split": "test"}
    reported = [entry.reported[0].model_copy(update=value)]
    for unit, theirs in ((None, "146.7 nats/token"), ("BPC", "146.7 (printed as BPC)")):
        stated = [reported[0].model_copy(update={"unit": unit})]
        paper = PAPER.model_copy(
            update={"experiments": {**PAPER.experiments, "ptb-a": entry.model_copy(update={"reported": stated})}}
        )
        there = [metric("ptb-a", 0, "cross_entropy", 4.5, "test", "nats/token")]
        context = make_context(tmp_path, metrics=there, paper=paper)
        made = {"id": "ptb-a", "title": "A", "variant": None, "status": context.status("ptb-a")}
        cards = [made | {"metrics": list(card(context, "ptb-a").values())}]
        (found,) = experiment_rows([{"id": "toy", "experiments": cards}])
        assert (found["metric"], found["theirs"], found["ours"]) == ("test cross-entropy", theirs, "4.5 nats/token")
        assert (found["theirs_value"], found["ours_value"]) == (146.7, 4.5)


def test_the_list_of_experiments_shows_the_tests_number_where_the_paper_has_none(tmp_path):
    there = [metric("ptb-a", 0, "cross_entropy", loss, split) for split, loss in (("train", 4.0), ("test1", 5.0))]
    context = make_context(tmp_path, metrics=there)
    made = {"id": "ptb-a", "title": "A", "variant": None, "status": context.status("ptb-a")}
    metrics = [m | {"paper": ""} for m in card(context, "ptb-a").values()]
    for shown, expected in ((metrics, 5.0), (metrics[:1], 4.0)):
        (found,) = experiment_rows([{"id": "toy", "experiments": [made | {"metrics": shown}]}])
        assert found["ours_value"] == expected


def test_the_list_of_experiments_is_ordered_by_numbers_and_knows_where_there_is_none(tmp_path):
    there = [metric("ptb-a", i, "perplexity", 1234.5 + i, "test") for i in range(2)]
    there.append(metric("ptb-b", 0, "perplexity", 30.0, "test"))
    project = make_project(tmp_path, metrics=there)
    text = page(project, load_contexts(project, resolve()))
    assert '<td data-order="146.7">146.7</td><td data-order="1235.0">1,235.0 ± 6.4</td>' in text
    # At this tier ptb-b has another text than the paper's.
    assert '<td data-order=""></td><td data-order="30.0">30</td>' in text
    assert text.count('<td data-order=""></td><td data-order=""></td>') >= 3
    assert "± is half\nof the 95 % interval" in text
    assert "a mean share where they\nwould pass 0 or 1, cut there" in text


def test_a_curve_says_in_words_where_it_ends(tmp_path):
    context = make_context(tmp_path)
    # cross_entropy is drawn: 0.01 and 0.26 at step 15; that of the replica that diverged after step 5 is not its end.
    end = f"{(0.01 + 0.26) / 2:.3g}"
    said = f"Training curve of ELMAN, T = 10: at its end training cross-entropy {end} at step 15, means over 2 replicas"
    said += "; 1 more diverged"
    assert described(context, "rnn-t10") == said
    assert described(context, "rnn-t10@width=nine") == "Training curve of ELMAN, T = 10 (width=nine)"
    point = row("rnn-t10", 0, metric="cross_entropy", split="valid", value=math.pi, x=2.0, axis="epoch", unit="nats")
    alone = make_context(tmp_path, curves=[point | {"variant": "width=nine"}])
    ends = "at its end validation cross-entropy 3.14 nats at epoch 2, 1 replica"
    assert described(alone, "rnn-t10@width=nine") == f"Training curve of ELMAN, T = 10 (width=nine): {ends}"
    lost = make_context(tmp_path, curves=[point | {"status": "diverged"}])
    assert described(lost, "rnn-t10") == "Training curve of ELMAN, T = 10: 1 replica, diverged"
    project = make_project(tmp_path)
    assert f'alt="{said}"' in page(project, load_contexts(project, resolve()))
