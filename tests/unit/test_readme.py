"""README's section of results is what the committed files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_report_case import make_project, resolve

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.config.strict_yaml import load_yaml
from reprise.errors import UserError
from reprise.report.context import load_contexts
from reprise.report.readme import marks, replaced, section, write_section

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


def measured(file, workload):
    rows = json.loads((ROOT / "results/bench" / file).read_text(encoding="utf-8"))["rows"]
    return {row["implementation"]: row for row in rows if row["workload"] == workload and row["median"]}


def test_the_quoted_speeds_are_those_of_the_committed_runs():
    found = measured("rrntn-k100.json", "ptb-h100-k100")
    times = {name: 1 / row["ratio_to"]["fused"] for name, row in found.items() if name != "fused"}
    quoted = [
        f"{found['fused']['median']:,.0f} words a second",
        f"{times['eager']:.1f} times eager PyTorch",
        f"{times['jax']:.1f} times JAX",
        f"{times['jax-rows']:.1f} times JAX that updates the rows in use alone",
        f"{100 * found['fused']['share_of_peak']:.0f} % of the core's measured peak",
    ]
    medians = {name: row["median"] for name, row in measured("llrnn.json", "m2500-b32").items()}
    quoted += [
        f"{medians['fused']:,.0f} words a second",
        f"{medians['fused'] / medians['dense']:.1f} times dense features",
        f"{medians['fused'] / medians['sparse']:.1f} times torch.sparse",
    ]
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert [phrase for phrase in quoted if phrase not in text] == []
