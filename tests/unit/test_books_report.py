"""Figures and tables of the books: made-up records beside the original's curves and texts."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pandas as pd
import pytest
from books_report_helpers import METRICS, ORIGINAL, REFERENCE, TEXTS, losses, make_context, row, text

from reprise.config.displays import entries
from reprise.errors import UserError
from reprise.report.parts import style
from reprise.report.papers.books.numbers import original_near, table_steps
from reprise.report.papers.books.figures import loss_curves, measures_over_steps
from reprise.report.render import find_function
from reprise.report.parts.spreads import meaning
from reprise.report.papers.books.tables import completions, samples
from reprise.report.papers.books.tables import expectations, loss_at_steps, measures


def test_the_loss_is_held_to_two_deviations_of_the_originals_batches(tmp_path):
    context = make_context(tmp_path)
    table = loss_at_steps(context, "loss-at-steps", {})
    raw, read = table.rows.set_index(["experiment", "step"]), table.reading()
    assert raw.original_mean.round(3).tolist() == [1.297, 1.174, 1.116, 1.111, 1.078, 1.434, 1.347, 1.315, 1.302, 1.269]
    assert raw.loc["grimm", 3000]["mean"] == pytest.approx(raw.loc["grimm", 3000].original_mean + 0.01)
    assert read["Within two deviations"].tolist() == ["yes"] * 5 + ["no"] * 5
    # Two replicas 0.02 apart: their mean has an error of 0.01, and 12.706 of them make the interval.
    assert read["Loss: ours ± 95 % interval"][0] == "1.307 ± 0.127"
    assert "Gap in deviations of the original's single batches" in read
    assert read["Replicas"].tolist() == ["2 of 3"] * 5 + ["1 of 3"] * 5
    of = "of the original's batches (5 of 5 of Grimms' Fairy Tales; 0 of 5 of Don Quijote de la Mancha)"
    off = raw.loc["quijote"].gap_in_std
    assert table.notes == [
        f"5 of 10 mean losses are within two standard deviations {of}; the farthest, that of step {off.idxmax():,} of "
        f"Don Quijote de la Mancha, is {off.max():.1f} deviations above its mean.",
        f"Ours {meaning(context, ['grimm'])}",
    ]
    reported = [context.reported(n, f"cross_entropy_mark_{k}", "train")[1] for n, k in pairs()]
    assert reported == [round(mean, 4) for mean in raw.original_mean]


def test_a_replica_that_diverged_is_not_counted_as_missing(tmp_path):
    context = make_context(tmp_path, metrics=[*METRICS, row("grimm", 2, status="diverged")])
    read = loss_at_steps(context, "loss-at-steps", {}).reading()
    assert read["Replicas"].tolist() == ["3 (1 diverged)"] * 5 + ["1 of 3"] * 5


def test_claims_stand_on_the_rows_that_they_are_about(tmp_path):
    """The first step of Grimm had all claims of the experiment, whatever they are about, and the others had none."""
    context = make_context(tmp_path)
    entry = {"verdict": "reproduced", "experiments": ["grimm", "quijote"], "alternatives": {}}
    judged = replace(context, claims=dict.fromkeys(("U7", "U8", "U9-spaces", "U12-unaffected", "U12-gretel"), entry))
    losses_at = loss_at_steps(judged, "loss-at-steps", {}).reading()
    grimm = losses_at[losses_at.Book == "Grimms' Fairy Tales"].Claims.tolist()
    assert grimm == ["U7, U8 reproduced"] * 3 + ["U7 reproduced"] * 2
    texts = measures(judged, "measures", {}).reading()
    texts = texts[texts.Book == "Grimms' Fairy Tales"].set_index(["Texts", "Step", "Characters"]).Claims
    # The text of the end is the longer one of the same step.
    assert texts[texts != "–"].to_dict() == {
        ("sampled", "250", "100"): "U9-spaces reproduced",
        ("sampled", "15,000", "1,000"): "U12-unaffected reproduced",
    }
    expected = expectations(judged, "expectations", {}).reading().set_index("Quantity").Claims
    assert expected[expected != "–"].to_dict() == {
        "P of “etel” after “Hansel and Gr”": "U12-gretel reproduced",
        "words of the book after a random character": "U12-unaffected reproduced",
        "words of the book after “Let T be a bounded …”": "U12-unaffected reproduced",
        "words of the book after “Mas vale pajaro …”": "U12-unaffected reproduced",
    }


def pairs():
    return [(name, k) for name in ("grimm", "quijote") for k in range(1, 6)]


def test_texts_stand_beside_the_originals(tmp_path):
    context = make_context(tmp_path)
    table = samples(context, "table-1", {})
    read = table.reading().set_index("Step")
    assert list(read.index) == ["0", "3,000", "6,000", "9,000", "12,000", "15,000"]
    assert read.loc["3,000"].tolist()[1:] == ["Q|ueen | king", "Q|ueen the the"]
    assert read.iloc[5, 0].startswith("G|retel off again in the garden. With all my heart")
    assert r"Q\|ueen \| king" in table.markdown()
    drawn = "Sampled: drawn at temperature 0.8; argmax: the likeliest character at each place."
    assert table.notes == [drawn]
    quijote = samples(context, "table-2", {})
    assert quijote.reading().iloc[5, 1].startswith("L|o que antes se puedo vencido")
    assert quijote.notes == [drawn, "15,000: the log has this text at step 16,250.", "Ours: not trained yet."]


def test_completions_stand_under_their_prompts(tmp_path):
    table = completions(make_context(tmp_path), "table-3", {})
    read = table.reading()
    first = read[read.Prompt != ""]
    assert len(first) == 5
    at = first.index[first.Prompt == "Hansel and Gr|"][0]
    assert read.Whose[at : at + 2].tolist() == ["original, sampled (log, step 15,000)", "ours, sampled"]
    assert read.Completion[at + 1 : at + 3].tolist() == ["etel slept.", "etel and the"]
    assert [note.partition(":")[0] for note in table.notes[1:]] == ["“Hansel and Gr”", f"“{PROMPT}”"]


def test_a_prompt_that_stands_twice_says_why(tmp_path):
    texts = [*TEXTS, text("grimm", "operator-blank", 15000, "sample", "in V, a vector space. ", "So he")]
    notes = completions(make_context(tmp_path, texts=texts), "table-3", {}).notes
    assert "leaves open whether a blank follows" in notes[1]


PROMPT = "Mas vale pajaro en mano que ver un ciento v"


def test_measures_by_step_and_at_the_end(tmp_path):
    read = measures(make_context(tmp_path), "measures", {}).reading()
    grimm = read[read.Book == "Grimms' Fairy Tales"].set_index(["Texts", "Step", "Characters"])
    assert grimm.loc["original, sampled", "15,000", "100"]["Words of the book"] == "0.938"
    assert grimm.loc["sampled", "15,000", "1,000"]["Words of the book"] == "0.940 (0.813–1.000)"
    assert grimm.loc["sampled", "15,000", "1,000"]["Full stops"] == "0.850 (0.215–1.000) of 60"
    assert [grimm.loc["sampled", step, "100"]["Spaces"] for step in ("250", "750")] == ["0.250", "0.750"]
    assert ("sampled", "500", "100") not in grimm.index
    assert grimm.loc["argmax", "3,000", "100"]["Distinct 2"] == "1.000 (0.000–1.000)"
    assert grimm.loc["argmax", "6,000", "100"]["Distinct 2"] == "–"
    assert {("the book itself", "–", "100"), ("the book itself", "–", "1,000")} <= set(grimm.index)


def test_the_originals_texts_are_measured_at_every_step_that_is_logged(tmp_path):
    table = measures(make_context(tmp_path), "measures", {})
    theirs = table.rows[(table.rows.texts == "original, sampled") & (table.rows.experiment == "quijote")]
    assert theirs.step.tolist() == [3000, 6000, 9000, 12000, 15000]
    assert theirs.words_in_book.notna().tolist() == [False] * 4 + [True]  # their share takes the book
    logged = pd.read_csv(REFERENCE / "books_logged_texts.csv")
    logged = logged[(logged.book == "quijote") & (logged.step == 9000)]
    texts = (logged.prompt + logged.text).tolist()
    row = theirs.set_index("step").loc[9000]
    assert row.spaces == pytest.approx(sum(t.count(" ") for t in texts) / sum(map(len, texts)))
    assert row.stops == sum(t[:-2].count(".") for t in texts)
    assert row[["distinct_1", "distinct_2", "distinct_3", "distinct_4"]].is_monotonic_increasing
    assert table.notes[0] == (
        "Grimms' Fairy Tales: a row of ours is of 64 texts of each replica, the original of 10 of its author's log."
    )


def test_expectations(tmp_path):
    context = make_context(tmp_path)
    read = expectations(context, "expectations", {}).reading().set_index("Quantity")
    assert read.loc["after “To be, or not to be …”"].tolist() == ["0.250", "–"]
    # Mean of the replicas' probabilities, not of their logarithms.
    assert read.loc["P of “etel” after “Hansel and Gr”"].tolist() == ["0.500 (0.000–1.000)", "< 0.001"]


def test_figures_are_drawn_to_the_same_bytes(tmp_path):
    context = make_context(tmp_path)
    for function, name in ((loss_curves, "figure-3"), (measures_over_steps, "texts")):
        drawn = []
        for _ in range(2):
            content = io.BytesIO()
            with style.applied():
                function(context, name, {}).savefig(content, format="svg", metadata={"Date": None})
            drawn.append(content.getvalue())
        assert drawn[0] == drawn[1]
    figure = loss_curves(context, "figure-3", {})
    assert [axes.get_title() for axes in figure.axes] == ["Grimms' Fairy Tales", "Don Quijote de la Mancha"]
    ours = next(line for line in figure.axes[0].lines if line.get_marker() == "o")
    # Ours ends at the last of these steps, where the original goes on.
    expected = [original_near(curve_of("grimm"), step)[0] + 0.01 for step in table_steps(context, "grimm")[:-1]]
    assert ours.get_ydata()[:-1] == pytest.approx(expected)
    assert {t.get_text() for t in figure.legends[0].texts} >= {"ours, mean", "original"}


def curve_of(book):
    return ORIGINAL[ORIGINAL.book == book].set_index("step").train_loss_nats


def test_on_another_text_nothing_is_set_beside_the_original(tmp_path):
    texts = [text("grimm", "start", 100, "sample", "Z", "e ze")]
    context = make_context(tmp_path, "quick", [METRICS[0]], losses("grimm", 0, 0.0), texts)
    table = loss_at_steps(context, "loss-at-steps", {})
    assert table.rows.original_mean.isna().all()
    assert "Prose of a Markov chain" in table.notes[0]
    assert "Original (its author's log)" not in samples(context, "table-1", {}).reading()
    assert completions(context, "table-3", {}).reading().empty
    figure = loss_curves(context, "figure-3", {})
    assert "original" not in {t.get_text() for t in figure.legends[0].texts}
    assert not (measures(context, "measures", {}).rows.texts == "original, sampled").any()


def test_without_records_everything_says_so(tmp_path):
    context = make_context(tmp_path, metrics=[], curves=[], texts=[])
    assert set(loss_at_steps(context, "loss-at-steps", {}).reading()["Loss: ours ± 95 % interval"]) == {
        "not trained yet"
    }
    for function, figure in ((loss_curves, "figure-3"), (measures_over_steps, "texts")):
        (axes,) = function(context, figure, {}).axes
        assert axes.texts[0].get_text() == "not trained yet"
    paper = {"books": context.paper}
    for entry in entries(paper).values():
        if not context.of_experiments(entry.id):
            continue  # claims and arithmetic have tests of their own
        drawn = find_function(entry.kind, entry.display.function)(context, entry.id, entry.options())
        if entry.kind == "tables":
            assert drawn.html()


def test_samples_that_cannot_be_read_are_told(tmp_path):
    context = make_context(tmp_path)
    path = tmp_path / "results" / "paper" / "samples.jsonl"
    path.write_text('{"kind": ')
    with pytest.raises(UserError, match=re.escape(str(path)) + ".*collect --tier paper"):
        context.samples("grimm")
    path.unlink()
    with pytest.raises(UserError, match="no such file; run"):
        context.samples("grimm")
