"""Tables of document 000, against numbers worked out by hand from made-up records."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from functools import partial

import pytest
from gso_report_helpers import POSITIONS, losses, make_context, project_of, row, sample

from reprise.catalogue.displays import TABLES
from reprise.config.resolve import resolve_tier
from reprise.errors import UserError
from reprise.report.context import load_contexts
from reprise.report.tables.gso import ablation, unit_audit
from reprise.report.tables.gso_text import facts, predictions
from reprise.units import bits

YARDSTICK = "yardstick-7-gram"
PRINTED = {"t1-tanh-de": 1.14, "t1-tanh-none": 1.12, "t1-id-none": 1.17, "t1-rnn": 1.27}
CLAIM = {"claim": "G18"}
ALONE = TABLES["gso_text.predictions"]


@pytest.fixture
def context(tmp_path):
    return partial(make_context, tmp_path)


def by(table, key="experiment"):
    return dict(zip(table.rows[key], table.reading().to_dict("records"), strict=True))


NATS, GAP = "Ours, nats per character ± 95 % interval", "Gap, if printed in"
ABOVE = "Above the model without D and E ± 95 % interval"


def test_differences_of_three_folds_have_the_interval_of_their_own(context):
    metrics = [m for fold, nats in enumerate((1.0, 1.5, 2.0)) for m in losses("t1-tanh-none", fold, nats)]
    metrics += [m for fold, nats in enumerate((1.1, 1.5, 2.2)) for m in losses("t1-tanh-de", fold, nats)]
    read = by(ablation(context(metrics), "table-1", {}))["t1-tanh-de"]
    # 0.1, 0 and 0.2: a deviation of 0.1, whatever the folds do.
    assert read[ABOVE] == f"+0.1000 ± {4.302653 * 0.1 * math.sqrt(1 / 3 + 0.2 / 0.72):.4f}"


def test_only_the_claim_on_the_unit_stands_beside_the_units(context):
    entry = {"verdict": "reproduced", "experiments": ["t1-rnn", YARDSTICK], "alternatives": {}}
    there = replace(context(losses("t1-rnn", 0, 1.5)), claims={"G6": entry, "G16": entry, "G18": entry})
    assert by(unit_audit(there, "unit-audit", CLAIM))["t1-rnn"]["Claims"] == "G18 reproduced"
    assert by(ablation(there, "table-1", {}))["t1-rnn"]["Claims"] == "G6, G16, G18 reproduced"


def test_table_1_has_the_gap_in_both_units_and_differences_of_equal_folds(context):
    metrics = [*losses("t1-tanh-none", 0, 1.10), *losses("t1-tanh-none", 1, 1.20), *losses("t1-tanh-none", 2, 1.6)]
    metrics += [*losses("t1-tanh-de", 0, 1.15), *losses("t1-tanh-de", 1, 1.21)]
    metrics += [*losses("t1-id-none", 0, 1.5), *losses("t1-id-d", 0, 1.25)]
    table = ablation(context(metrics), "table-1", {})
    raw, read = table.rows.set_index("experiment"), by(table)
    # Two folds borrow from the family, of which one model has three: the deviation of logarithms around each model's
    # own mean, with two degrees of freedom; 4.3027 errors of a mean of two folds, whose training sets overlap.
    squares = sum(
        statistics.variance(map(math.log, found)) * (len(found) - 1) for found in ((1.1, 1.2, 1.6), (1.15, 1.21))
    )
    std = 1.18 * math.sqrt(squares / 3)
    reach = 4.302653 * std * math.sqrt(1 / 2 + 0.2 / 0.72)
    # Of the differences, 0.05 and 0.01, the two folds know as much as the family: one degree of freedom.
    apart = 12.7062 * 0.02 * math.sqrt(2) * math.sqrt(1 / 2 + 0.2 / 0.72)
    # Folds 0 and 1 are those that both have: (1.15 - 1.10 + 1.21 - 1.20) / 2, and so far apart from it.
    assert raw.difference["t1-tanh-de"] == pytest.approx(0.03)
    assert raw.difference_std["t1-tanh-de"] == pytest.approx(0.02 * math.sqrt(2))
    assert raw.difference_to["t1-id-d"] == "t1-id-none"
    assert read["t1-tanh-de"] == {
        "Model": "general, with D and E",
        "φ": "tanh",
        "Parameters": "498,187",
        "Paper, as printed": "1.14",
        NATS: f"1.180 ± {reach:.3f}",
        "Ours, bits per character ± 95 % interval": f"1.702 ± {bits(reach):.3f}",
        f"{GAP} nats (in deviations)": f"+0.040 (+{0.04 / std:.1f})",
        f"{GAP} bits (in deviations)": f"+0.562 (+{(bits(1.18) - 1.14) / bits(std):.1f})",
        ABOVE: f"+0.0300 ± {apart:.4f}",
        "Mean of lines, nats": "1.680",
        "Folds": "2 of 5",
    }
    # A lone fold borrows what remains of the logarithms when models and folds have their own levels.
    residual = (math.log(1.15 / 1.10) - math.log(1.21 / 1.20)) / 2
    alone = 12.7062 * residual * math.hypot(1.25, 1.5) * math.sqrt(1 + 0.2 / 0.72)
    assert read["t1-id-d"][ABOVE] == f"−0.2500 ± {alone:.4f}"
    assert read["t1-tanh-none"][ABOVE] == "–"
    assert read["t1-rnn"][NATS] == "not trained yet"
    assert (read["t1-id-none"]["Model"], read["t1-mi-rnn"]["Model"]) == ("general, without D and E", "general MI-RNN")


def test_the_gap_is_also_in_deviations_of_three_folds(context):
    metrics = [m for fold, nats in enumerate((1.1, 1.2, 1.3)) for m in losses("t1-rnn", fold, nats)]
    metrics += [m for fold, nats in enumerate((1.1, 1.2)) for m in losses("t1-tanh-de", fold, nats)]
    table = ablation(context(metrics), "table-1", {})
    read = by(table)
    assert read["t1-rnn"][f"{GAP} nats (in deviations)"] == "−0.070 (−0.7)"
    # Its family knows no more than its two folds.
    assert read["t1-tanh-de"][f"{GAP} nats (in deviations)"] == "+0.010 (+0.1)"
    assert read["t1-tanh-de"][NATS] == f"1.150 ± {12.7062 * 0.1 / math.sqrt(2) * math.sqrt(1 / 2 + 0.2 / 0.72):.3f}"
    assert not any("Borrowed deviation" in note for note in table.notes)
    assert any("verdicts take for one fold" in note and "Nadeau and Bengio" in note for note in table.notes)


def test_tables_say_which_text_was_read_and_name_the_deviation(context, tmp_path):
    metrics = [*losses("t1-rnn", 0, 1.5), *losses(YARDSTICK, 0, 1.0)]
    shown = [(ablation, "table-1", {}), (unit_audit, "unit-audit", CLAIM), (facts, "text", {})]
    shown.append((predictions, "figure-2", ALONE))
    there = context(metrics)
    for function, name, options in shown:
        (note,) = [n for n in function(there, name, options).notes if n.startswith("Text of ours: ")]
        assert "Mikolov's preprocessing. Deviation mikolov-text: " in note
    project = project_of("paper")
    raw = project.config.model_copy(update={"ldc_wsj": "treebank"})
    there = load_contexts(replace(project, root=tmp_path, config=raw), resolve_tier(project))["gso"]
    for function, name, options in shown:
        (note,) = [n for n in function(there, name, options).notes if n.startswith("Text of ours: ")]
        assert "raw Wall Street Journal text (LDC99T42)" in note
        assert "mikolov" not in note.lower()


def test_table_1_says_which_folds_diverged_and_where(context):
    metrics = [
        *losses("t1-id-e", 1, 1.3),
        row("t1-id-e", 1, split="train", metric="diverged_epoch", value=24),
        row("t1-id-e", 1, split="valid", metric="best_epoch", value=22),
        row("t1-id-e", 0, status="diverged"),
        *(row("t1-rnn", fold, status="diverged") for fold in range(5)),
    ]
    reached = {"split": "valid", "metric": "cross_entropy", "axis": "epoch", "status": "diverged"}
    curves = [row("t1-id-e", 0, x=x, value=2.0, **reached) for x in (1, 2)]
    table = ablation(context(metrics, curves), "table-1", {})
    found = "Diverged: general model with E, identity, fold 0 in epoch 3, without a number; fold 1 in epoch 24, tested "
    assert f"{found}as of epoch 22." in table.notes
    assert by(table)["t1-id-e"]["Folds"] == "2 of 5 (1 diverged)"
    assert by(table)["t1-rnn"]["Folds"] == "5 (5 diverged)"
    assert by(table)["t1-rnn"][NATS] == "diverged"
    assert any(note.endswith("fold 4 in epoch 1, without a number.") for note in table.notes)


def test_numbers_of_another_text_are_not_set_beside_the_papers(context):
    there = context([*losses("t1-rnn", 0, 1.5), *losses(YARDSTICK, 0, 1.0)], tier="quick")
    read = by(ablation(there, "table-1", {}))["t1-rnn"]
    assert (read["Paper, as printed"], read[f"{GAP} nats (in deviations)"]) == ("other text", "–")
    table = unit_audit(there, "unit-audit", CLAIM)
    assert by(table)["t1-rnn"]["Ours beside the n-gram"] == "+50.0 %"
    assert by(table)[YARDSTICK]["Paper, as printed"] == "–"
    assert not [note for note in table.notes if note.startswith("Read as")]
    assert any("stands in for the paper's" in note for note in table.notes)


def audit(context, factor):
    """Ours are so many times the printed numbers, read as nats; the n-gram gets 1.6 bits per character."""
    ours = [metric for name, printed in PRINTED.items() for metric in losses(name, 0, factor * printed)]
    return unit_audit(context([*ours, *losses(YARDSTICK, 0, 1.6 * math.log(2))]), "unit-audit", CLAIM)


def test_the_unit_audit_reads_the_printed_numbers_in_both_units(context):
    table = audit(context, 1.1)
    read = by(table)["t1-tanh-none"]
    assert read["Read as bits: beside the n-gram"] == "−30.0 %"
    assert read["Read as nats: in bits"] == "1.62"
    assert read["Read as nats: beside the n-gram"] == "+1.0 %"
    assert (read["Ours, bits per character ± 95 % interval"], read["Ours beside the n-gram"]) == ("1.777", "+11.1 %")
    title = "character 7-gram, interpolated Witten-Bell"
    assert table.notes[0].startswith(
        f"Read as bits per character, the paper's 1.12 (general model without D and E, tanh) would be 30.0 % below the "
        f"1.60 of our {title}, and 5.9 % below 1.19, the best of 2017"
    )
    assert table.notes[0].endswith("; its highest, 1.27 (first-order RNN, tanh), 20.6 % below the n-gram.")
    assert table.notes[1] == (
        "Read as nats per character, 1.12 would be 1.62 bits, 1.0 % above the n-gram; 1.27 would be 1.83 bits, 14.5 % "
        "above it."
    )
    assert table.notes[2] == (
        "Ours (4 models) are on average 58.7 % above the paper's numbers read as bits, 10.0 % above them read as nats, "
        "so that nats are the plausible reading."
    )


def test_ours_stand_beside_the_n_gram_of_the_same_folds(context):
    metrics = [*losses("t1-rnn", 0, 1.2), *losses("t1-rnn", 1, 1.3), *losses("t1-tanh-de", 2, 1.2)]
    metrics += [*losses(YARDSTICK, 0, 1.2), *losses(YARDSTICK, 1, 1.2), *losses(YARDSTICK, 4, 0.6)]
    read = by(unit_audit(context(metrics), "unit-audit", CLAIM))
    # folds 0 and 1: 1.25 / 1.2; the n-gram's mean over all of its folds is 1
    assert read["t1-rnn"]["Ours beside the n-gram"] == "+4.2 %"
    assert read["t1-tanh-de"]["Ours beside the n-gram"] == read[YARDSTICK]["Ours beside the n-gram"] == "–"


def test_the_unit_is_open_halfway_and_bits_where_ours_are_bits(context):
    assert audit(context, math.sqrt(math.log(2))).notes[2].endswith("which leaves the unit open.")
    assert audit(context, math.log(2) * 1.01).notes[2].endswith("so that bits are the plausible reading.")


def test_without_ours_the_n_gram_is_the_measure_and_without_it_nothing_is_said(context):
    table = unit_audit(context(losses(YARDSTICK, 0, 1.6 * math.log(2))), "unit-audit", CLAIM)
    assert table.notes[2].startswith("The n-gram is on average")
    assert table.notes[2].endswith("nats are the plausible reading.")
    table = unit_audit(context(losses("t1-rnn", 0, 1.2)), "unit-audit", CLAIM)
    assert by(table)["t1-rnn"]["Read as bits: beside the n-gram"] == "–"
    assert not [note for note in table.notes if note.startswith("Read as")]
    with pytest.raises(UserError, match=r"key tables\.unit-audit\.options\.claim: 'G1' is no claim about a unit"):
        unit_audit(context(), "unit-audit", {"claim": "G1"})


def test_predictions_stand_under_the_characters_they_are_of(context):
    samples = [
        sample(0, "the first of its fold", " he sirst of ats fold"),
        sample(0, "the second", " he tecond"),
        sample(1, "to land customers for their unk stock", " o tand customers for the r unk stock"),
        sample(1, "a b", "  b"),
    ]
    there = context([*losses(POSITIONS, 0, 1.1), *losses(POSITIONS, 1, 1.1)], samples=samples)
    printed = [{"line": "abc", "prediction": "xbd"}]
    table = predictions(there, "figure-2", {"printed": printed, "lines": 3, "width": 10})
    read = table.reading()
    # The paper's line first, then the first of each fold; broken after the last space within ten characters.
    assert read.Characters.tolist() == [
        *("abc", "xbd"),
        *("to land ", " o tand ", "customers ", "customers ", "for their ", "for the r ", "unk stock", "unk stock"),
        *("the first ", " he sirst ", "of its ", "of ats ", "fold", "fold"),
        *("a b", "  b"),
    ]
    assert read.Whose[read.Whose != ""].tolist() == ["paper", "ours, fold 1", "ours, fold 0", "ours, fold 1"]
    # of 2, 36, 20 and 2 characters after the first
    assert read.Right[read.Right != ""].tolist() == ["50 %", "94 %", "90 %", "100 %"]
    assert '<code style="white-space: pre"> he sirst </code>' in table.html()
    assert "`\u00a0he\u00a0sirst\u00a0`" in table.markdown()


def test_predictions_without_ours_say_so_and_show_the_papers(context):
    display = context().display("figure-2")
    table = predictions(context(), "figure-2", {**ALONE, **display.options})
    assert "Ours: not trained yet." in table.notes
    assert table.reading().Right[lambda right: right != ""].tolist() == ["57 %", "80 %"]
    with pytest.raises(UserError, match=r"options\.printed: a line and its prediction differ in length"):
        predictions(context(), "figure-2", {**ALONE, "printed": [{"line": "ab", "prediction": "a"}]})


@pytest.mark.parametrize("option", [{"printed": ["ab"]}, {"printed": [{"line": "ab"}]}, {"lines": -1}, {"width": 0}])
def test_an_option_of_the_predictions_that_cannot_be_meant_is_told(context, option):
    with pytest.raises(UserError, match=rf"tables\.figure-2\.options\.{next(iter(option))}: .*; write "):
        predictions(context(), "figure-2", {**ALONE, **option})


def test_facts_stand_beside_the_papers(context):
    values = {"lines": 49199, "shortening_by_bigrams": 0.357798165, "long_words.share_of_words": 0.0018}
    there = context([row("corpus", 0, split="all", metric=m, value=v) for m, v in values.items()])
    read = by(facts(there, "text", {}), "metric")
    assert list(read["lines"].values()) == ["Lines", "49,689", "49,199", "−490"]
    assert list(read["shortening_by_bigrams"].values())[1:] == ["about 40 %", "35.8 %", "–"]
    assert list(read["long_words.share_of_words"].values())[1:] == ["less than 2 %", "0.18 %", "–"]
    assert list(read["words"].values())[1:] == ["–", "not measured", "–"]
