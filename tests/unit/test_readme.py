"""README's section of results is what the committed files say."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import pytest
from test_report_case import make_project, resolve

from reprise.cli import train as train_command
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.config.strict_yaml import load_yaml
from reprise.errors import UserError
from reprise.report.parts.context import load_contexts
from reprise.report.page.readme import marks, replaced, section, write_section

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tier", ["paper", "reduced"])
def test_the_committed_sections_are_not_stale(tier):
    project = load_project(ROOT, {"tier": tier})
    contexts = load_contexts(project, resolve_tier(project))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == replaced(text, contexts, ROOT / "README.md"), f"run `reprise render --tier {tier} --readme`"


@pytest.mark.parametrize("tier", ["paper", "reduced"])
def test_every_link_of_the_sections_leads_to_a_committed_table(tier):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    begin, end = marks(tier)
    content = text[text.index(begin) : text.index(end)]
    links = [part.partition(")")[0] for part in content.split("](")[1:]]
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_a_row_counts_experiments_and_verdicts(tmp_path):
    text = section(load_contexts(make_project(tmp_path), resolve()))
    (row,) = [line for line in text.splitlines() if line.startswith("| 002 ")]
    assert "| A toy paper | 5 of 9 experiments, 1 in part |" in row
    assert "[convergence](results/paper/tables/toy-convergence.md)" in row


def test_what_stands_around_the_section_is_kept(tmp_path):
    contexts = load_contexts(make_project(tmp_path), resolve())
    path, (begin, end) = tmp_path / "README.md", marks("paper")
    path.write_text(f"before\n{begin}\nold\n{end}\nafter\n", encoding="utf-8")
    write_section(path, contexts)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{begin}\n| document |")
    assert text.endswith(f"|\n{end}\nafter\n")
    assert "old" not in text
    path.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"README\.md: no lines"):
        write_section(path, contexts)
    assert path.read_text(encoding="utf-8") == "no marks\n"


def test_every_figure_and_table_is_a_stage_of_dvc():
    stages = load_yaml(ROOT / "dvc.yaml")["stages"]
    papers = load_project(ROOT, {"tier": "paper"}).papers
    for stage, kind in (("figure", "figures"), ("table", "tables")):
        shown = {f"{name}-{display}": name for name, paper in papers.items() for display in getattr(paper, kind)}
        assert {key: item["paper"] for key, item in stages[stage]["foreach"].items()} == shown


def test_the_replica_that_one_may_doubt_has_a_record_of_the_engine_that_trains_it_again():
    """Replicas of one experiment may have been trained by several engines, whose numbers differ."""
    parser = argparse.ArgumentParser()
    train_command.add_arguments(parser)
    (command,) = re.findall(r"`python -m reprise train (.*?)`", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    given = parser.parse_args(command.split())
    experiments = resolve_tier(load_project(ROOT, {"tier": given.tier}))
    (experiment,) = [e for e in experiments if e.id == given.experiment]
    record = json.loads((ROOT / experiment.record_path(given.replica)).read_text(encoding="utf-8"))
    assert record["run"]["engine"] == given.engine == "fused"
    assert given.output is not None


EAGER = {"eager": "eager PyTorch"}
JAX_TOO = {**EAGER, "jax": "JAX", "jax-rows": "JAX by rows"}
COMPILE_TOO = {"eager": "padded PyTorch", "compile": "compiled"}
FEATURES = {"dense": "dense features", "sparse": "torch.sparse"}

SPEEDS = [  # file, workload, our engine, what README calls the workload, what it counts, peers and their names
    ("rrntn", "ptb-h100-k100", "fused", "001, r-RNTN, H = K = 100", "words", JAX_TOO),
    (
        "rrntn",
        "ptb-h100-k10000",
        "fused",
        "001, RNTN, H = 100, K = 10000",
        "words",
        {**JAX_TOO, "eager-sparse": "sparse"},
    ),
    ("rrntn", "text8-h100-k376", "fused", "001, r-RNTN, H = 100, K = 376, 37,751 words", "words", JAX_TOO),
    ("rrntn-gated", "r-gru-244-k100", "grouped", "001, r-GRU, H = 244, K = 100", "words", EAGER),
    ("rrntn-gated", "r-lstm-254-k100", "grouped", "001, r-LSTM, H = 254, K = 100", "words", EAGER),
    ("gso", "full-394", "fused", "000, general model, lines as they are", "characters", COMPILE_TOO),
    (
        "gso",
        "full-394-t110",
        "fused",
        "000, the same, lines of one length",
        "characters",
        {**COMPILE_TOO, "jax": "JAX"},
    ),
    ("llrnn", "m2500-b32", "fused", "004, LL-RNN, M = 2500, batches of 32", "words", FEATURES),
]


@pytest.mark.parametrize("row", SPEEDS, ids=lambda row: row[1])
def test_the_speeds_in_the_table_are_those_of_the_committed_runs(row):
    file, workload, engine, title, counted, peers = row
    rows = json.loads((ROOT / "results/bench" / f"{file}.json").read_text(encoding="utf-8"))["rows"]
    found = {row["implementation"]: row for row in rows if row["workload"] == workload}
    ours = found[engine]
    times = ", ".join(f"{name} {ours['median'] / found[peer]['median']:,.1f}" for peer, name in peers.items())
    line = f"| {title} | {ours['median']:,.0f} {counted} | {100 * ours['share_of_peak']:.0f} % | {times} |"
    assert line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_the_goals_that_were_missed_are_named():
    missed = [
        f"| `{path.stem}` | {goal['goal']} | {goal['found']:.2f} |"
        for path in sorted((ROOT / "results/bench").glob("*.json"))
        for goal in json.loads(path.read_text(encoding="utf-8"))["goals"]
        if goal["reached"] is False
    ]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(missed)} of their goals were missed" in " ".join(text.split())
    assert [line for line in text.splitlines() if line in missed] == missed
