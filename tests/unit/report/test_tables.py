"""Tables: their numbers against ones worked out by hand, and their three ways of being written."""

from __future__ import annotations

import io
import math
import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from markdown_it import MarkdownIt
from report_case import PAPER, make_context, metric

from reprise.config.project import load_project
from reprise.errors import UserError
from reprise.report.papers.palindromes.tables import convergence
from reprise.report.papers.shared.tables import assumptions, checks
from reprise.report.parts import rounding, tables
from reprise.report.parts.tables import Column, Table


def by(table: Table, column: str) -> dict[str, dict[str, str]]:
    """The table as it is read, a row by its value in the CSV's `column`."""
    return dict(zip(table.rows[column], table.reading().to_dict("records"), strict=True))


FIRST_PAPER = "First step at 100\u00a0%: paper"
FIRST_OURS = "First step at 100\u00a0%: ours, median (lowest–highest)"
LAST_OURS = "Last ten: ours ± 95 % interval"


def test_the_deviation_of_one_length_is_not_that_of_another(tmp_path):
    """Of both models one dataset is said; but a longer palindrome is another task."""
    values = {"rnn-t10": (1.0, 1.0), "rnn-t20": (0.49, 0.51)}
    metrics = [metric(n, i, "last_ten_accuracy", v, "train") for n, of in values.items() for i, v in enumerate(of)]
    read = by(convergence(make_context(tmp_path, metrics=metrics), "convergence", {"variant": ""}), "experiment")
    assert read["rnn-t10"][LAST_OURS] == "1.000 ± 0.000"
    assert read["rnn-t20"][LAST_OURS] == f"0.500 ± {12.7062 * 0.01:.3f}"


def test_convergence_counts_a_replica_that_reached_100_percent_before_it_diverged(tmp_path):
    table = convergence(make_context(tmp_path), "convergence", {"variant": ""})
    raw = table.rows.set_index("experiment").loc["rnn-t10"]
    # Replica 0 at step 10, replica 2 at step 5 before it diverged; replica 1 never.
    assert (raw.first_median, raw.first_lowest, raw.first_highest, raw.reached) == (7.5, 5, 10, 2)
    assert (raw.finished, raw.diverged, raw.run) == (2, 1, 3)
    assert raw.last_mean == pytest.approx(0.65)
    assert raw.last_std == pytest.approx(0.7 / math.sqrt(2))
    read = by(table, "experiment")["rnn-t10"]
    assert read[FIRST_PAPER] == "90"
    assert read[FIRST_OURS] == "7.5 (5–10)"
    assert read["Gap, steps"] == "−82.5"
    # Clopper and Pearson's interval of 2 of 3.
    assert read["Reached by (95 % interval)"] == "2 of 3 (9–99\u00a0%)"
    # 1.0 and 0.3: 12.706 standard errors of 0.35, with one degree of freedom, leave nothing out that a share can be.
    assert raw.last_reach == pytest.approx(12.7062 * 0.7 / 2)
    assert read[LAST_OURS] == "0.650 (0.000–1.000)"
    assert (read["Gap"], read["Gap in deviations"]) == ("−0.350", "−0.7")
    assert read["Diverged"] == "1"
    assert any("diverged replica" in note for note in table.notes)


def test_convergence_knows_no_variant_but_the_alternatives_of_assumptions(tmp_path):
    context = make_context(tmp_path)
    table = convergence(context, "convergence", {"variant": "width=nine"})
    assert table.rows.experiment[0] == "rnn-t10@width=nine"
    with pytest.raises(UserError, match=r"toy\.yaml: key tables\.convergence\.options\.variant: 'width=nin' is no "):
        convergence(context, "convergence", {"variant": "width=nin"})


def test_convergence_tells_not_run_from_never_reached(tmp_path):
    read = by(convergence(make_context(tmp_path), "convergence", {"variant": ""}), "experiment")
    assert read["rnn-t20"][FIRST_PAPER] == "never"
    assert read["rnn-t20"][FIRST_OURS] == "not trained yet"
    assert read["lstm-t30"][FIRST_OURS] == "not in this tier"
    assert read["rnn-t20"]["Replicas"] == "0 of 3"
    assert read["lstm-t30"][FIRST_PAPER] == "–"
    stuck = [metric("rnn-t20", 0, "last_ten_accuracy", 0.5, "train")]
    read = by(convergence(make_context(tmp_path, metrics=stuck), "convergence", {"variant": ""}), "experiment")
    assert read["rnn-t20"][FIRST_OURS] == "never"
    assert read["rnn-t20"][LAST_OURS] == "0.500"


def test_checks_are_held_to_their_tolerance_and_name_their_claims(tmp_path):
    table = checks(make_context(tmp_path), "checks", {})
    read = by(table, "check")
    assert [*read["identity"].values()] == ["An identity", "left = right", "1e−09", "1e−06", "yes", "C1, C2"]
    assert (read["erratum"]["Held"], read["erratum"]["Largest error"]) == ("no", "0.25 parameters")
    assert read["waiting"]["Comparison"] == "not run yet"
    assert (read["waiting"]["Held"], read["waiting"]["Claims"]) == ("–", "–")


def test_csv_keeps_every_digit_and_the_others_are_escaped(tmp_path):
    rows = pd.DataFrame({"name": ["a | b", "<b>"], "value": [1 / 3, None]})
    columns = [Column("Name", lambda r: r["name"], words=True), Column("x", lambda r: rounding.fixed(r["value"], 2))]
    table = Table(columns, rows, ["1 < 2"])
    paths = tables.write(table, tmp_path / "toy-table", "Toys", "In nats.")
    assert [p.name for p in paths] == ["toy-table.csv", "toy-table.md", "toy-table.html"]
    csv, markdown, html = (p.read_text(encoding="utf-8") for p in paths)
    assert pd.read_csv(io.StringIO(csv)).value[0] == 1 / 3
    assert csv.splitlines()[2] == "<b>,"
    assert markdown.startswith("# Toys\n\nIn nats.\n\n| Name")
    assert r"a \| b" in markdown
    assert "0.33" in markdown
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "<li>1 &lt; 2</li>" in html
    assert 'class="long"' not in html
    long = Table(columns, pd.DataFrame({"name": ["w" * 40], "value": [1.0]})).html()
    assert f'<span class="long">{"w" * 40}</span>' in long


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("mapped to <unk>, </s> after it", r"mapped to \<unk>, \</s> after it"),
        ("1 < 2, <-, layer 2", "1 < 2, <-, layer 2"),
        ("4*V*H + **b**", r"4\*V\*H + \*\*b**"),
        ("2 * V * H ** 2", "2 * V * H ** 2"),
        ("f_mod, POS:_ and _old_ `x`", r"f_mod, POS:_ and \_old_ \`x\`"),
    ],
)
def test_markdown_shows_words_as_they_stand(tmp_path, text, source):
    """A viewer of Markdown leaves out <unk> and </s> as tags that it does not know."""
    table = Table([Column("N | <b>", lambda r: r["name"], words=True)], pd.DataFrame({"name": [text]}), [text])
    tables.write(table, tmp_path / "toy-table", text, text)
    title, _, caption, _, head, _, row, _, note = (tmp_path / "toy-table.md").read_text(encoding="utf-8").splitlines()
    assert (title, caption, note) == (f"# {source}", source, f"- {source}")
    assert head.strip("| ") == r"N \| \<b>"
    assert row.strip("| ") == source
    shown = MarkdownIt("commonmark").enable("table").render((tmp_path / "toy-table.md").read_text(encoding="utf-8"))
    assert unescape(re.sub(r"<[^>]+>", "", shown)).count(text) == 4


@pytest.mark.parametrize(("unrun", "said"), [(None, "none is run"), ("Too dear.", "none is run: Too dear.")])
def test_why_no_alternative_of_an_assumption_is_run_stands_in_the_table(tmp_path, unrun, said):
    entry = PAPER.assumptions["epochs"].model_copy(update={"unrun": unrun})
    paper = PAPER.model_copy(update={"assumptions": {**PAPER.assumptions, "epochs": entry}})
    read = assumptions(make_context(tmp_path, paper=paper), "convergence", {"numbers": "perplexity test"}).reading()
    assert read["Alternative"].iloc[0] == said


def test_each_committed_assumption_has_an_alternative_or_tells_why_none_is_run():
    for name, paper in load_project(Path(__file__).parents[3]).papers.items():
        for key, entry in paper.assumptions.items():
            assert bool(entry.alternatives) != bool(entry.unrun), f"{name}: {key}"
