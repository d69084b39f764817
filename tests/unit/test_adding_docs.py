"""What docs/adding.md has a newcomer write is sound where it tells them to put it; CITATION.cff names what is here."""

import re
from pathlib import Path

import pytest
from config_helpers import copy_config

import reprise
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.config.strict_yaml import load_yaml

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/adding.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def clone(tmp_path):
    return copy_config(tmp_path)


def put(path, before, block):
    """The block after the line that the document names."""
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, before + block), encoding="utf-8")


def test_the_experiment_the_alternative_and_the_dataset_of_the_docs_are_sound(clone):
    experiment, alternative, dataset = BLOCKS
    paper = clone / "config/papers/rrntn.yaml"
    put(paper, "\nexperiments:\n", experiment)
    before, _, after = paper.read_text(encoding="utf-8").partition("\n  initial-state:\n")
    assumption = after.replace("    alternatives:\n", "    alternatives:\n" + alternative, 1)
    paper.write_text(f"{before}\n  initial-state:\n{assumption}", encoding="utf-8")
    put(clone / "config/config.yaml", "\ndatasets:\n", dataset.replace("prepare: sums", "prepare: ptb"))
    project = load_project(clone)
    found = {e.id: e for e in resolve_tier(project, "quick")}
    assert found["rrntn/s-rnn-50"].config["model"]["options"]["hidden_size"] == 50
    assert found["rrntn/s-rnn-50@initial-state=half"].config["model"]["options"]["h_0"] == 0.5
    (file,) = project.spec("sums").files
    assert (file.name, file.size) == ("sums.txt", None)


def test_the_citation_names_this_version_and_every_document():
    citation = load_yaml(ROOT / "CITATION.cff")
    assert citation["version"] == reprise.__version__
    cited = {(r["title"], r["year"]) for r in citation["references"]}
    # The two parts of document 002 are two papers here; whoever adds a paper need not cite it.
    papers = load_project(ROOT).papers.values()
    assert cited <= {(p.title.partition(", part 1:")[0].partition(", part 2:")[0], p.year) for p in papers}
