"""Tables: their numbers against ones worked out by hand, and their three ways of being written."""

import io
import math
import re
from html import unescape

import pandas as pd
import pytest
from markdown_it import MarkdownIt
from report_case import LAST, make_context, metric, row

from reprise.errors import UserError
from reprise.report.papers.gso.tables import list_unstable
from reprise.report.papers.palindromes import tables as palindromes
from reprise.report.papers.shared.tables import checks
from reprise.report.papers.shared.tables import perplexity as perplexities
from reprise.report.parts import rounding, tables
from reprise.report.parts.tables import Column, Table

FIRST_PAPER = "First step at 100\u00a0%: paper"
FIRST_OURS = "First step at 100\u00a0%: ours, median (lowest–highest)"
LAST_OURS = "Last ten: ours ± 95 % interval"


def by(table: Table, column: str) -> dict[str, dict[str, str]]:
    """The table as it is read, a row by its value in the CSV's `column`."""
    return dict(zip(table.rows[column], table.formatted_rows.to_dict("records"), strict=True))


def convergence(context, table: str = "convergence", variant: str = "") -> Table:
    return palindromes.convergence(context, table, {"variant": variant})


def test_the_deviation_of_one_length_is_not_that_of_another(tmp_path):
    """Of both models one dataset is said; but a longer palindrome is another task."""
    values = {"rnn-t10": (1.0, 1.0), "rnn-t20": (0.49, 0.51)}
    metrics = [metric(n, i, LAST, v) for n, accuracies in values.items() for i, v in enumerate(accuracies)]
    read = by(convergence(make_context(tmp_path, metrics=metrics)), "experiment")
    assert [read[name][LAST_OURS] for name in values] == ["1.000 ± 0.000", f"0.500 ± {12.7062 * 0.01:.3f}"]


@pytest.mark.parametrize("nats", [(5.0, 800.0, 5.1), (800.0, 900.0)])
def test_an_infinite_perplexity_is_no_missing_one(tmp_path, nats):
    metrics = [metric("rrntn/s-rnn-100", i, "cross_entropy", x, "test", "nats/token") for i, x in enumerate(nats)]
    context = make_context(tmp_path, "rrntn", metrics=metrics)
    read = by(perplexities(context, "table-1", {}), "experiment")["s-rnn-100"]
    assert read["Test perplexity: ours (95 % interval)"] == "infinite"
    assert read["Replicas"].split()[0] == str(len(nats))


@pytest.mark.filterwarnings("error")
def test_a_family_keeps_its_sd_beside_an_infinite_perplexity(tmp_path):
    values = {"s-rnn-100": (5.0, 800.0, 5.1), "s-rnn-150": (4.9, 5.0, 5.2)}
    metrics = [
        metric(f"rrntn/{n}", i, "cross_entropy", x, "test", "nats/token")
        for n, losses in values.items()
        for i, x in enumerate(losses)
    ]
    rows = perplexities(make_context(tmp_path, "rrntn", metrics=metrics), "table-1", {}).rows.set_index("experiment")
    assert rows.loc["s-rnn-100", "mean"] == math.inf
    assert rows.loc["s-rnn-150", "low"] < rows.loc["s-rnn-150", "mean"] < rows.loc["s-rnn-150", "high"]


def test_perplexities_are_averaged_by_their_logarithms_and_one_seed_has_no_interval(tmp_path):
    """A replica far too bad does not make an interval of what no perplexity can be."""
    values = {"s-rnn-100": (150.0, 300.0, 600.0), "s-rnn-150": (140.0,)}
    metrics = [
        metric(f"rrntn/{n}", i, "perplexity", v, "test")
        for n, replicas in values.items()
        for i, v in enumerate(replicas)
    ]
    table = perplexities(make_context(tmp_path, "rrntn", metrics=metrics), "table-1", {})
    raw, read = table.rows.set_index("experiment").loc["s-rnn-100"], by(table, "experiment")
    factor = math.exp(4.302653 * math.log(2) / math.sqrt(3))
    assert raw["mean"] == pytest.approx(300)
    assert (raw.low, raw.high) == pytest.approx((300 / factor, 300 * factor), rel=1e-5)
    assert raw["log_std"] == pytest.approx(math.log(2))
    assert raw.gap_in_std == pytest.approx(math.log(300 / 146.7) / math.log(2))
    shown = read["s-rnn-150"]
    assert shown["Test perplexity: ours (95 % interval)"] == "140.00 (one seed)"
    assert shown["Gap in SDs"] == "–"


def test_convergence_counts_a_replica_that_reached_100_percent_before_it_diverged(tmp_path):
    context = make_context(tmp_path)
    table = convergence(context)
    raw = table.rows.set_index("experiment").loc["rnn-t10"]
    # Replica 0 at step 10, replica 2 at step 5 before it diverged; replica 1 never.
    assert (raw.first_median, raw.first_lowest, raw.first_highest, raw.reached) == (7.5, 5, 10, 2)
    assert (raw.finished, raw.diverged, raw.recorded) == (2, 1, 3)
    assert raw.last_mean == pytest.approx(0.65)
    assert raw.last_std == pytest.approx(0.7 / math.sqrt(2))
    # 1.0 and 0.3: 12.706 standard errors of 0.35, with one degree of freedom, leave nothing out that a share can be.
    assert (raw.last_low, raw.last_high) == pytest.approx((0.65 - 12.7062 * 0.35, 0.65 + 12.7062 * 0.35), rel=1e-5)
    assert by(table, "experiment")["rnn-t10"] == {
        "Model": "RNN",
        "T": "10",
        "Steps": "226",
        FIRST_PAPER: "90",
        FIRST_OURS: "7.5 (5–10)",
        "Gap, steps": "−82.5",
        "Reached by (95 % interval)": "2 of 3 (9–99\u00a0%)",  # Clopper and Pearson's
        "Last ten: paper": "1.000",
        LAST_OURS: "0.650 (0.000–1.000)",
        "Gap": "−0.350",
        "Gap in SDs": "−0.7",
        "Diverged": "1",
        "Replicas": "3 of 20",
    }
    assert any("diverged replica" in note for note in table.notes)
    # It knows no variant but the alternatives of assumptions.
    assert convergence(context, variant="weight-law=corrected").rows.experiment[0] == "rnn-t10@weight-law=corrected"
    with pytest.raises(UserError, match=r"palindromes\.yaml: key tables\.convergence\.options\.variant: no "):
        convergence(context, variant="a=b")


def test_convergence_tells_not_run_from_never_reached(tmp_path):
    read = by(convergence(make_context(tmp_path, metrics=[metric("rnn-t20", 0, LAST, 0.5)], curves=[])), "experiment")
    assert (read["rnn-t20"][FIRST_OURS], read["rnn-t20"][LAST_OURS]) == ("never", "0.500 (one seed)")
    assert (read["rnn-t50"][FIRST_PAPER], read["rnn-t50"][FIRST_OURS]) == ("never", "not trained yet")
    assert read["rnn-t50"]["Replicas"] == "0 of 20"
    quick = by(convergence(make_context(tmp_path, tier="quick")), "experiment")
    assert quick["rnn-t20"][FIRST_OURS] == "not in this tier"
    longer = by(convergence(make_context(tmp_path), "convergence-long"), "experiment")
    assert longer["rnn-t10-long"][FIRST_PAPER] == "–"


def test_checks_are_held_to_their_tolerance_and_name_their_claims(tmp_path):
    read = by(checks(make_context(tmp_path), "checks", {}), "check")
    failed, waiting = read["u15-omega-as-printed"], read["u14-output-weight-gradient"]
    assert list(read["u13-parameter-formula"].values())[1:] == ["left = right", "0", "0", "yes", "U13"]
    assert (failed["Holds"], failed["Largest error"], failed["Claims"]) == ("no", "0.25 parameters", "U15")
    assert (waiting["Comparison"], waiting["Holds"]) == ("not run yet", "–")


def test_csv_keeps_twelve_digits_and_the_others_are_escaped(tmp_path):
    rows = pd.DataFrame({"name": ["a | b", "<b>"], "value": [1 / 3, None]})
    columns = [
        Column("Name", lambda r: r["name"], is_text=True),
        Column("x", lambda r: rounding.format_fixed(r["value"], 2)),
    ]
    paths = tables.write_table(Table(columns, rows, ["1 < 2"]), tmp_path / "toy-table", "Toys", "In nats.")
    assert [p.name for p in paths] == ["toy-table.csv", "toy-table.md", "toy-table.html"]
    csv, markdown, html = (p.read_text(encoding="utf-8") for p in paths)
    assert pd.read_csv(io.StringIO(csv)).value[0] == 0.333333333333
    assert csv.splitlines()[2] == "<b>,"
    assert markdown.startswith("# Toys\n\nIn nats.\n\n| Name")
    assert r"a \| b" in markdown
    assert "0.33" in markdown
    assert "<td>&lt;b&gt;" in html
    assert "<li>1 &lt; 2</li>" in html
    assert 'class="long"' not in html
    long = Table(columns, pd.DataFrame({"name": ["w" * 40], "value": [1.0]})).to_html()
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
    table = Table([Column("N | <b>", lambda r: r["name"], is_text=True)], pd.DataFrame({"name": [text]}), [text])
    tables.write_table(table, tmp_path / "toy-table", text, text)
    title, _, caption, _, head, _, row, _, note = (tmp_path / "toy-table.md").read_text(encoding="utf-8").splitlines()
    assert (title, caption, note) == (f"# {source}", source, f"- {source}")
    assert head.strip("| ") == r"N \| \<b>"
    assert row.strip("| ") == source
    shown = MarkdownIt("commonmark").enable("table").render((tmp_path / "toy-table.md").read_text(encoding="utf-8"))
    assert unescape(re.sub(r"<[^>]+>", "", shown)).count(text) == 4


def test_a_line_end_in_a_cell_ends_no_row():
    rows = pd.DataFrame({"name": ["a title\nin two lines\n"]})
    text = Table([Column("Name", lambda r: r["name"], is_text=True)], rows).to_markdown()
    assert text.splitlines()[2:] == ["| a title in two lines |"]


def test_a_fold_whose_loss_rises_far_after_its_best_epoch_became_unstable(tmp_path):
    def course(replica, losses):
        common = {"metric": "cross_entropy", "split": "valid", "axis": "epoch", "unit": "nats/token"}
        return [row("gso/t1-tanh-de", replica, x=i, value=y, **common) for i, y in enumerate(losses, 1)]

    tested = [metric("gso/t1-tanh-de", i, "cross_entropy", 1.0, "test", "nats/token") for i in range(2)]
    curves = [*course(0, [3.0, 1.0, 1.1, 2.7, 1.6]), *course(1, [3.0, 1.0, 0.9, 0.98])]
    (only,) = list_unstable(make_context(tmp_path, "gso", metrics=tested, curves=curves), "t1-tanh-de")
    assert only.startswith("fold 0 in epoch 4 ")
    assert only.endswith("epoch 2)")
