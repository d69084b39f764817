"""README's results are what the committed files say; the command it names trains a committed record again."""

import json
import re

import pytest
from report_case import ROOT, experiments, make_project

from reprise import cli
from reprise.errors import UserError
from reprise.report.page.readme import BEGIN, END, write_results
from reprise.report.parts.context import load_contexts


def test_what_stands_around_the_results_is_kept(tmp_path):
    project = make_project(tmp_path)
    tiers = {"paper": load_contexts(project, experiments())}
    path = tmp_path / "README.md"
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    write_results(project, tiers)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n| document |")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "old" not in text
    assert (tmp_path / "results/forest.svg").is_file()
    path.write_text("no marks\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"README\.md: no lines"):
        write_results(project, tiers)
    assert path.read_text(encoding="utf-8") == "no marks\n"


def test_every_claim_on_trained_models_is_counted_once():
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [line.split(" | ", 2)[2] for line in text.splitlines() if line.startswith("| **")]
    again = r"\(results/\S+\)|; [\d /]+ under \S+"  # other readings count the same claims
    counted = sum(int(n) for cells in rows for n in re.findall(r"\d+", re.sub(again, "", cells)))
    claims = json.loads((ROOT / "results/paper/claims.json").read_text(encoding="utf-8"))
    for pair in re.findall(r"\[([\d /]+)\]\(\S+\); ([\d /]+) under", "\n".join(rows)):
        chosen, other = (sum(map(int, said.split(" / "))) for said in pair)
        assert chosen == other
    assert counted == sum(claim["evidence"] == "trained" for paper in claims.values() for claim in paper.values())


def test_the_replica_that_one_may_doubt_has_a_record_of_the_engine_that_trains_it_again():
    """Replicas of one experiment may have been trained by several engines, whose numbers differ."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"python -m reprise train (.*again\.json)", text)
    given = cli.command_parser("train").parse_args(command.split())
    (experiment,) = [e for e in experiments(given.tier) if e.id == given.experiment]
    record = json.loads((ROOT / experiment.record_path(given.replica)).read_text(encoding="utf-8"))
    assert record["run"]["engine"] == given.engine == "fused"
