"""Numbers worked out of a record: losses at places of a word (document 000, section 5), lengths of sampled words."""

import pytest
from claims_helpers import decide, runs
from config_helpers import project

from reprise.evidence.numbers import FIRST_LETTERS, LETTERS, list_letter_rows, list_numbers, list_word_length_rows
from reprise.evidence.verdicts import AGREES, DISAGREES, UNDECIDED

GSO = project().papers["gso"]


def record(x, losses, counts):
    fixed = {"split": "test", "axis": "position_in_word", "x": x}
    curves = [
        {**fixed, "metric": "cross_entropy", "unit": "nats/token", "y": losses},
        {**fixed, "metric": "count", "unit": "characters", "y": counts},
        {**fixed, "metric": "cross_entropy_of_space", "unit": "nats/token", "y": [9.0] * len(x)},
    ]
    return {"status": "finished", "metrics": [], "samples": [], "curves": curves}


def test_positions_are_weighed_by_their_letters():
    rows = list(list_letter_rows(record([1, 2, 9, 13, 14, 20], [3, 2, 1, 0.4, 0.5, 2], [90, 80, 1, 3, 2, 1])))
    late = (pytest.approx((1 + 3 * 0.4) / 4), 4), (pytest.approx(1.0), 3)
    assert [row["metric"] for row in rows] == list(LETTERS)
    assert [(row["value"], row["n"]) for row in rows] == [(3, 90), (2, 80), *late]
    assert {(row["split"], row["unit"]) for row in rows} == {("test", "nats/token")}
    # Of a loss of 2.5 over 200 characters the first letters have 270.
    loss = {"split": "test", "metric": "cross_entropy", "value": 2.5, "unit": "nats/token", "n": 200}
    share = list(list_letter_rows({**record([1, 2], [3, 2], [90, 80]), "metrics": [loss]}))[-1]
    assert (share["metric"], share["value"], share["n"]) == (FIRST_LETTERS, 270 / 500, 200)
    # What no word reaches and what diverged has no row.
    short = record([1, 2, 3], [3, 2, 1], [9, 8, 7])
    assert [row["metric"] for row in list_numbers(short)] == list(LETTERS)[:2]
    assert list(list_letter_rows({**short, "status": "diverged"})) == []
    assert list(list_letter_rows({**short, "curves": short["curves"][:1]})) == []


def sampled(step, text, decoder="sample"):
    return {"kind": "start", "decoder": decoder, "step": step, "text": text}


def test_words_are_longer_late_by_what_was_sampled_early_and_late():
    early, late = [". a bb ccc.", ". a a a."], [". dddd eeee.", ". cut whole short"]
    texts = [*early, *(["."] * 6), *late]
    made = {**record([1], [1.0], [1]), "samples": [sampled(5 * (i + 1), text) for i, text in enumerate(texts)]}
    # Neither the untrained network nor argmax texts count; a word that the text's end may have cut does not.
    made["samples"] += [sampled(0, ". untrained."), sampled(5, ". argmaximum.", decoder="argmax")]
    rows = [(row["split"], row["value"], row["n"], row["unit"]) for row in list_word_length_rows(made)]
    mean_late = pytest.approx((4 + 4 + 3 + 5) / 4)
    assert rows == [("first-fifth", 9 / 6, 6, "letters"), ("last-fifth", mean_late, 4, "letters")]
    assert list(list_word_length_rows({**made, "status": "diverged"})) == []
    assert list(list_word_length_rows({**made, "samples": made["samples"][:1]})) == []


FALLING = [(2.6, 1.4, 0.3, 0.4), (2.5, 1.45, 0.28, 0.38), (2.55, 1.38, 0.31, 0.42)]


@pytest.mark.parametrize(
    ("claim", "order", "verdict"),
    [
        ("G15", [0, 1, 2, 3], AGREES),
        ("G15-late", [0, 1, 2, 3], AGREES),
        ("G15", [1, 0, 2, 3], DISAGREES),
        ("G15-late", [0, 1, 3, 2], DISAGREES),
        # A text without long words leaves it open.
        ("G15-late", [0, 1], UNDECIDED),
    ],
)
def test_the_order_by_position_is_decided_on_the_experiment_of_figure_3(claim, order, verdict):
    assert "figure-3" in GSO.experiments["f1-unigram-r2"].cited_by
    columns = {(name, "test"): [losses[i] for losses in FALLING] for name, i in zip(LETTERS, order, strict=False)}
    one = runs("f1-unigram-r2", [1.0, 1.1, 1.2], more=columns, unit="nats/token", folds=True)
    assert decide(GSO.claims[claim], one).answer == verdict
