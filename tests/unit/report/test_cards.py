"""Numbers on cards and in the list of experiments: named, with their intervals; and curves."""

import math
from collections import Counter
from types import SimpleNamespace
from xml.etree import ElementTree

from report_case import LAST, make_context, metric

from reprise.catalogue.models import MODELS
from reprise.report.page.cards import draw_training_curve, find_equations, list_metrics


def card(context, name):
    metrics = list_metrics(context, context.get_resolved(name))
    return {m["metric"]: m["ours"] for m in metrics}


def test_a_card_names_its_metrics_and_gives_the_interval_of_their_means(tmp_path):
    name, losses = "rrntn/s-rnn-100", (math.log(140), math.log(142))
    more = [
        *(metric(name, i, "cross_entropy", loss, "test", "nats/token") for i, loss in enumerate(losses)),
        *(metric(name, i, "vocabulary", 10000.0, "all", "words") for i in range(2)),
        metric("rrntn/lstm-254", 0, "perplexity", 30.0, "test"),
    ]
    context = make_context(tmp_path, "rrntn", metrics=more)
    values = card(context, "s-rnn-100")
    # The mean of 140 and 142 and its interval, of their logarithms.
    middle, reach = (math.log(140) + math.log(142)) / 2, 12.7062 * math.log(142 / 140) / 2
    ends = (f"{math.exp(middle + sign * reach):.0f}" for sign in (-1, 1))
    assert values["test perplexity"] == f"{math.exp(middle):.0f} ({'–'.join(ends)})"
    assert values["test cross-entropy"] == f"4.949 ± {12.7062 * (losses[1] - losses[0]) / 2:.3f}"
    # Counted, and the same in every replica.
    assert values["vocabulary"] == "10,000"
    # One replica of another family has nothing to go by.
    assert card(context, "lstm-254")["test perplexity"] == "30"


def test_the_interval_of_a_share_of_replicas_is_exact_and_that_of_a_mean_share_ends_at_1(tmp_path):
    reached = [metric("rnn-t10", i, "reached_full_accuracy", float(i > 0), unit="share") for i in range(3)]
    shares = [metric("rnn-t10", i, LAST, share, unit="share") for i, share in enumerate((1, 0.9, 1))]
    values = list(card(make_context(tmp_path, metrics=[*reached, *shares], curves=[]), "rnn-t10").values())
    # What the paper has a number of stands first.
    assert values == [f"0.97 ({29 / 30 - 4.302653 / 30:.2f}–1.00)", "0.67 (0.09–0.99)"]


def test_a_curve_has_a_line_a_replica_and_its_ends_as_labels(tmp_path):
    svg = ElementTree.fromstring(draw_training_curve(make_context(tmp_path), "rnn-t10"))
    assert len(svg.findall("polyline")) == 3
    assert [text.text for text in svg.findall("text")] == [
        "training",
        "1.01",
        "0.01",
        "0",
        "step 15",
        "cross-entropy",
    ]
    assert draw_training_curve(make_context(tmp_path), "rnn-t20") == ""


def test_every_model_shows_an_equation_of_its_own():
    """The card takes it from the docstring of the class, where it has to stand on a line of its own."""
    equations = {name: find_equations(SimpleNamespace(name=name, settings={})) for name in MODELS}
    # No model at all, and one whose equation is that of the log-linear network with other features.
    assert {name for name, lines in equations.items() if not lines} == {"none", "log-linear-logistic"}
    assert max(Counter(filter(None, equations.values())).values()) == 1
