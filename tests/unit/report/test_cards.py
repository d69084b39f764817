"""Numbers on cards and in the list of experiments: named, with their units and intervals; curves told in words."""

from __future__ import annotations

import math

from report_case import METRICS, make_context, metric, row

from reprise.report.page.cards import described, metrics
from reprise.report.parts.context import of_experiment
from reprise.report.parts.rounding import even


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
