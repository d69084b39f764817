"""Tables and figure of the translation model, from made-up records of document 003's own configuration."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lecture_report_helpers import metric
from test_report_case import write_collected

from reprise.config.project import PAPERS, Project, load_project, read_paper
from reprise.config.resolve import resolve_tier
from reprise.errors import UserError
from reprise.evaluation.bleu_counts import bleu_counts
from reprise.evidence.bleu import bleu
from reprise.report.parts.context import load_contexts
from reprise.report.papers.lecture import figures
from reprise.report.papers.lecture import tables

pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
ROOT = Path(__file__).parents[2]
PAPER = read_paper(ROOT / PAPERS / "lecture.yaml")[0]
SIGNATURE = "BLEU|nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:9.9"
RUN = {"translate-basic": (30.0, 4.0), "translate-lstm": (12.0, 24.0)}
HYPOTHESES = ["a man runs .", "a dog .", "two men in red hats run .", "a b c d e f", "it is a big red ball .", "no"]
REFERENCES = ["a man runs .", "a cat .", "two men in blue hats run .", "a b c d f", "it is a red ball .", "yes"]
LENGTHS = [4, 3, 8, 6, 7, 1]


def sample(name, replica, **more):
    keys = {"paper": "lecture", "experiment": name, "variant": "", "replica": replica, "status": "finished"}
    return keys | more


def samples_of(name, replica, hypotheses):
    counts = bleu_counts(hypotheses, REFERENCES, lowercase=True)
    every = {"kind": "translations", "split": "test", "texts": hypotheses, "source_words": LENGTHS, **counts}
    found = [sample(name, replica, **every)]
    for line in (1, 3):
        shown = {"line": line, "source": f"source {line}", "reference": REFERENCES[line - 1]}
        found.append(sample(name, replica, kind="example", text=f"{name} {replica}", **shown))
    return found


def context_of(root, tier="paper", run=RUN, best=3, hypotheses=HYPOTHESES):
    metrics, samples = [], []
    for name, (perplexity, score) in run.items():
        for replica in (0, 1):
            more = {"parameters": 1234}
            metrics.append(metric(name, replica, "perplexity", perplexity + replica, "test", **more))
            metrics.append(metric(name, replica, "perplexity", perplexity + 5, "valid", **more))
            metrics.append(metric(name, replica, "bleu", score + replica, "test", **more | {"unit": SIGNATURE}))
            metrics.append(metric(name, replica, "best_epoch", best + replica, "valid", **more))
            samples += samples_of(name, replica, hypotheses if replica else REFERENCES)
    folder = root / "results" / tier
    write_collected(folder, metrics, [])
    (folder / "samples.jsonl").write_text("".join(json.dumps(s) + "\n" for s in samples))
    project = Project(root, load_project(ROOT, {"tier": tier}).config, {"lecture": PAPER})
    return load_contexts(project, resolve_tier(project))["lecture"]


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return context_of(tmp_path_factory.mktemp("project"))


BLEU = "BLEU ± 95 % interval"


def test_a_row_a_model_with_its_perplexity_and_bleu(context):
    table = tables.translation_ladder(context, "translation", {})
    read = dict(zip(table.rows.experiment, table.reading().to_dict("records"), strict=True))
    assert list(read)[0] == "translate-basic"
    assert len(read) == 9
    assert read["translate-basic"] == {
        "Model": "Translation, as printed",
        "Parameters": "1,234",
        # 4.3027 errors: the deviations of 30, 31 and of 12, 13 are pooled as shares of their means, a BLEU's as it is.
        "Test perplexity ± 95 % interval": "30.50 ± 4.01",
        BLEU: "4.50 ± 2.15",
        "Different translations": "6 of 6",
        "Validation perplexity ± 95 % interval": "35.00 ± 0.00",
        "Epoch": "3.5",
        "Replicas": "2 of 3",
    }
    assert read["translate-gru"]["Replicas"] == "not trained yet"
    assert read["translate-gru"][BLEU] == "–"
    assert table.notes[:-1] == ["BLEU by sacrebleu, nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:9.9."]


def test_an_interval_of_perplexities_is_cut_at_1(tmp_path):
    table = tables.translation_ladder(context_of(tmp_path, run={"translate-basic": (1.2, 4.0)}), "translation", {})
    (read,) = [row for row in table.reading().to_dict("records") if row["Different translations"] != "–"]
    assert read["Test perplexity ± 95 % interval"].startswith("1.70 (1.00–")
    assert "would pass 1, it is given in brackets, cut there." in table.notes[-1]


def test_translations_that_are_alike_and_trainings_that_are_cut_short_are_told(tmp_path):
    """Of the second replica's six texts five are one; its best epoch is the last of the tier's fifteen."""
    table = tables.translation_ladder(context_of(tmp_path, "reduced", best=14, hypotheses=["a ."] * 5 + ["b ."]), "translation", {})
    read = dict(zip(table.rows.experiment, table.reading().to_dict("records"), strict=True))
    assert read["translate-basic"]["Different translations"] == "4 of 6"
    assert read["translate-gru"]["Different translations"] == "–"
    assert table.notes[1] == (
        "The best epoch is the last that this tier allows, so that more might be better: Translation, as printed (1 of "
        "2 replicas); Translation, I to V, LSTM (1 of 2 replicas)."
    )


def test_a_model_that_writes_one_thing_for_everything_is_named(context, tmp_path):
    alike = tables.translation_ladder(context_of(tmp_path, hypotheses=["a man ."] * 6), "translation", {})
    assert alike.notes[1] == (
        "One and the same translation of all sentences, so that nothing of a source is in it: Translation, as printed "
        "(1 of 2 replicas); Translation, I to V, LSTM (1 of 2 replicas)."
    )
    assert not [note for note in tables.translation_ladder(context, "translation", {}).notes if note.startswith("One and the same")]


def test_a_tiers_reductions_are_said_once(tmp_path):
    reduced = tables.translation_ladder(context_of(tmp_path / "a", "reduced"), "translation", {}).notes[1:-1]
    said = "10,000 pairs of sentences in place of 29,000 and 15 epochs at most in place of 30"
    assert reduced == [f"All at this tier: {said}."]
    (quick,) = tables.translation_ladder(context_of(tmp_path / "b", "quick"), "translation", {}).notes[1:-1]
    assert quick.startswith("All at this tier: on “Sentences of a Markov chain and their translation")


def test_examples_stand_under_their_source_and_reference(context):
    table = tables.translation_examples(context, "translation-examples", {})
    rows = [tuple(row.values()) for row in table.reading().to_dict("records")]
    assert rows == [
        ("1", "source", "source 1"),
        ("", "reference", "a man runs ."),
        ("", "Translation, as printed", "translate-basic 0"),
        ("", "Translation, I to V, LSTM", "translate-lstm 0"),
        ("3", "source", "source 3"),
        ("", "reference", "two men in blue hats run ."),
        ("", "Translation, as printed", "translate-basic 0"),
        ("", "Translation, I to V, LSTM", "translate-lstm 0"),
    ]
    assert "Multi30k" in table.notes[0]
    assert "CC BY-NC-SA 4.0" in table.notes[0]
    assert "Translation, I to V, GRU: not trained yet." in table.notes


def test_without_records_tables_and_figure_say_so(tmp_path):
    empty = context_of(tmp_path, run={})
    assert set(tables.translation_ladder(empty, "translation", {}).reading()["Replicas"]) == {"not trained yet"}
    assert tables.translation_examples(empty, "translation-examples", {}).reading().empty
    (axes,) = figures.translation_ladder(empty, "translation-ladder", {"lines": ""}).axes
    assert [text.get_text() for text in axes.texts] == ["not trained yet"]


def test_the_figure_has_a_dot_a_replica_and_bleu_by_length(context):
    options = {"lines": "translate-basic translate-gru"}
    perplexity, score, lengths = figures.translation_ladder(context, "translation-ladder", options).axes
    for axes, (first, last) in ((perplexity, (30.0, 12.0)), (score, (4.0, 24.0))):
        dots = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata())]
        assert dots == [[[first, 0], [first + 1, 0]], [[last, 8], [last + 1, 8]]]
    labels = [text.get_text() for text in perplexity.get_yticklabels()]
    assert (labels[0], labels[7]) == ("as printed", "I to V, GRU (not trained yet)")
    (line,) = lengths.lines
    hypotheses = [
        bleu_counts(texts, REFERENCES, lowercase=True) | {"texts": texts} for texts in (REFERENCES, HYPOTHESES)
    ]
    # Sources of 1 and 3 words have no reference of four words; the others fall into groups of their own.
    numbers = [0, 3, 4, 2]
    assert line.get_xdata().tolist() == [LENGTHS[i] for i in numbers] == [4, 6, 7, 8]
    expected = [np.mean([bleu(sample, [i]) for sample in hypotheses]) for i in numbers]
    assert line.get_ydata().tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("lines", "told"),
    [("translate-bsic", "did you mean 'translate-basic'"), ("translate-gru " * 5, "5 lines are more than 4")],
)
def test_wrong_lines_are_told(context, lines, told):
    with pytest.raises(UserError, match=f"figures.translation-ladder.options.lines: .*{told}"):
        figures.translation_ladder(context, "translation-ladder", {"lines": lines})
