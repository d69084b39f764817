"""Verdicts beside the numbers, and what other choices would change: from records and claims.json alone."""

from __future__ import annotations

import pytest
from gso_report_helpers import losses, project_of
from gso_report_helpers import make_context as make_gso
from report_claims_helpers import TURNED, UNDER, claim, judged, with_claims
from test_report_case import METRICS, make_context, metric

from reprise.config.resolve import resolve_tier
from reprise.errors import UserError
from reprise.report import verdicts
from reprise.report.assumptions import outcomes, sentence
from reprise.report.tables.assumptions import consequences

NUMBERS = {"numbers": "perplexity test, last_ten_accuracy train"}
CHOSEN, UNDER_IT = "As chosen ± 95 % interval", "Under the alternative ± 95 % interval"
DIFFERENCE = "Difference (in deviations)"


def test_a_verdict_on_a_part_of_a_claim_says_so(tmp_path):
    """As chosen the part was "inconclusive" beside a claims table that said "not reproduced", without a word."""
    part = judged("direction only", "inconclusive") | {"parts": [2, 4]}
    whole = judged("reproduced", "not reproduced") | {"parts": [4, 4]}
    told = "Where only a part of a claim's comparisons"
    expected = ((part, "inconclusive → direction only (2 of 4 comparisons)"), (whole, "not reproduced → reproduced"))
    for under, said in expected:
        claims = {"C1": claim("not reproduced", ["ptb-a"], {"width=nine": under})}
        table = consequences(with_claims(tmp_path, claims), "perplexity", NUMBERS)
        assert f"C1: {said}" in set(table.reading()["Claims: as chosen → under it"])
        assert any(note.startswith(told) for note in table.notes) is (under is part)
    turned = {"width=nine": judged("reproduced", "inconclusive") | {"parts": [1, 3]}, "width=eight": whole}
    flips = ["width=nine (inconclusive → reproduced, of 1 of 3 comparisons)", "width=eight (reproduced)"]
    assert verdicts.flips(turned) == flips


def test_what_turns_with_fewer_replicas_names_what_it_turns_from():
    """ "Changes under rate (not reproduced)" stood beside a claim that is not reproduced, with its replicas."""
    few = judged("not reproduced", "inconclusive") | {"fewer": True}
    both = judged("reproduced", "direction only") | {"fewer": True, "parts": [4, 5]}
    assert verdicts.flips({"rate": few, "law": both}) == [
        "rate (inconclusive → not reproduced, with as few replicas)",
        "law (direction only → reproduced, of 4 of 5 comparisons, with as few replicas)",
    ]


def test_claims_are_told_in_the_order_of_what_a_reader_asks(tmp_path):
    """Which of twelve turn is not to be looked for among those that stay."""
    entries = {
        "C1": judged("not run", "reproduced") | {"parts": [2, 4]},
        "C2": judged("reproduced", "reproduced") | {"same": True},
        "C3": judged("inconclusive", "inconclusive") | {"parts": [0, 2]},
        "C4": judged("not reproduced", "not reproduced"),
        "C5": judged("inconclusive", "reproduced"),
        "C6": judged("not reproduced", "not reproduced"),
        "C7": judged("not run", "not run"),
    }
    assert verdicts.turns(entries.items()) == (
        "C5: reproduced → inconclusive; C2: still reproduced (the same numbers); C4, C6: still not reproduced; "
        "C1, C7: not run; C3: not looked at"
    )


def test_every_verdict_before_and_after_stands_beside_the_numbers(tmp_path):
    table = consequences(with_claims(tmp_path, TURNED, metrics=[*METRICS, *UNDER]), "perplexity", NUMBERS)
    read = table.reading().to_dict("records")
    assert read[0] == {
        "Assumption": "Epochs (epochs)",
        "Our choice": "sixty (source: ours)",
        "Alternative": "none is run",
        "Claims: as chosen → under it": "–",
        "Run on": "–",
        CHOSEN: "–",
        UNDER_IT: "–",
        DIFFERENCE: "–",
    }
    # ptb-a: 140 and 142 as chosen, so 4 above their mean, in deviations of sqrt(2).
    assert read[1] == {
        "Assumption": "W (width)",
        "Our choice": "8 (source: s)",
        "Alternative": "nine: states of size 9",
        "Claims: as chosen → under it": "C1: reproduced → inconclusive; C2: still reproduced",
        "Run on": "A",
        CHOSEN: "141 ± 13",
        # One replica of its reading: nobody lends it a deviation.
        UNDER_IT: "145",
        DIFFERENCE: "+4 (2.8)",
    }
    assert [row[UNDER_IT] for row in read[2:]] == ["not trained yet", "not run at this tier"]
    assert [row["Alternative"] for row in read[2:]] == ["", "eight: states of size 8"]
    assert read[3]["Claims: as chosen → under it"] == "C1: not run"
    assert table.notes[0] == (
        "0 of 2 alternatives of our choices are run, 1 in part; of the 2 claims judged under them 1 verdict changes: "
        "under width=nine (C1: reproduced → inconclusive)."
    )
    assert "Deviation corpus: Another corpus." in table.notes


def test_the_state_of_an_alternative_tells_not_run_from_no_change(tmp_path):
    context = with_claims(tmp_path, TURNED, metrics=[*METRICS, *UNDER])
    nine, eight = outcomes(context)
    assert nine.state == "1 of 2 replicas trained: C1: reproduced → inconclusive"
    assert eight.state == "not run at this tier"
    quiet = {"C1": claim("reproduced", ["ptb-a"], {"width=nine": judged("reproduced", "reproduced")})}
    other = metric("ptb-c", 0, "perplexity", 145.0, "test") | {"variant": "width=nine"}
    context = with_claims(tmp_path, quiet, metrics=[*METRICS, *UNDER, other])
    assert outcomes(context)[0].state == "trained: no verdict changes (of C1)"
    assert sentence(context).endswith("; of the 1 claim judged under them no verdict changes.")
    waiting = {"C1": claim("not run", ["ptb-a"], {"width=nine": judged("not run", "not run")})}
    context = with_claims(tmp_path, waiting)
    assert sentence(context) == (
        "0 of 2 alternatives of our choices are run, and no claim could be judged under one yet."
    )


def test_of_one_alternative_none_is_run(tmp_path):
    untrained = [row for row in METRICS if not row["variant"]]
    assert sentence(make_context(tmp_path, metrics=untrained)).startswith("0 of 1 alternative of our choices is run")


def test_folds_are_compared_with_their_own_and_other_measures_take_the_same_records(tmp_path):
    smaller = [m | {"variant": "learning-rate=smaller"} for m in losses("t1-rnn", 0, 1.5)]
    metrics = [*losses("t1-rnn", 0, 1.25), *losses("t1-rnn", 1, 1.75), *smaller]
    context = make_gso(tmp_path, metrics)
    table = consequences(context, "assumptions", context.display("assumptions").options)
    rows = table.rows.set_index(["alternative", "experiment"])
    # Fold 0 against fold 0, not against the mean of both.
    assert rows.difference["smaller", "t1-rnn"] == pytest.approx(0.25)
    assert "Differences in brackets are in deviations of one fold." in table.notes
    read = table.reading().set_index("Alternative")
    (macro,) = [name for name in read.index if name.startswith("macro: cross-entropy macro in place of cross-entropy")]
    assert read[UNDER_IT][macro] == "the same records"
    assert len(table.rows) > len(project_of("paper").papers["gso"].assumptions)
    assert {e.assumption for e in resolve_tier(project_of("paper")) if e.assumption} <= set(table.rows.assumption)


def test_which_number_an_experiment_will_have_is_not_guessed(tmp_path):
    """Of several only its record tells; where there is one alone it is that one."""
    context = with_claims(tmp_path, {}, metrics=UNDER)
    for numbers, known in (("last_ten_accuracy train, perplexity test", False), ("perplexity test", True)):
        rows = consequences(context, "perplexity", {"numbers": numbers}).rows.set_index(["alternative", "experiment"])
        assert rows.metric["nine", "ptb-a"] == "perplexity"
        assert (rows.metric["nine", "ptb-c"] == "perplexity") is known


def test_numbers_have_to_be_a_metric_and_a_split(tmp_path):
    with pytest.raises(UserError, match=r"key tables\.perplexity\.options\.numbers: 'perplexity' is no list"):
        consequences(with_claims(tmp_path, {}), "perplexity", {"numbers": "perplexity"})


def test_a_number_that_no_record_has_is_refused_unless_it_may_still_come(tmp_path):
    def refused(numbers, *run):
        metrics = [
            metric(name, 0, "perplexity", 140.0, "test") | {"variant": variant}
            for name, _, variant in (one.partition("@") for one in run)
        ]
        try:
            consequences(with_claims(tmp_path, {}, metrics=metrics), "perplexity", {"numbers": numbers})
        except UserError as error:
            return str(error)
        return None

    every = ["ptb-a", "ptb-a@width=nine", "ptb-a@width=eight", "ptb-c", "ptb-c@width=nine"]
    where = "toy.yaml: key tables.perplexity.options.numbers"
    assert refused("perplexty test", "ptb-a").endswith(
        f"{where}: no record has 'perplexty test'; did you mean 'perplexity test'?"
    )
    # Nothing was run; the numbers of what was not run are not known; the paper states such a number.
    assert refused("perplexty test") is None
    assert refused("perplexity test, vocabulary all", *every[:-1]) is None
    assert refused("last_ten_accuracy train", *every) is None
    assert "no record has 'vocabulary all'" in refused("perplexity test, vocabulary all", *every)
