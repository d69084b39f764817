"""The resolved configuration: variants, texts, what the docs have one write, and a hash of what decides the numbers."""

import re
from pathlib import Path

import pytest
from config_helpers import add_example, copy_config, edit, mistake
from project import ROOT, TOY

import reprise
from reprise.config.project import load_project, merge_mappings
from reprise.config.resolve import resolve_tier
from reprise.config.strict_yaml import load_yaml
from reprise.errors import UserError
from reprise.records.resolved import Resolved, compute_hash, read_resolved
from reprise.report.render import find_function

DIGITS, SIZES = "papers/digits.yaml", "papers/sizes.yaml"
UNITS_20 = "      hidden_size: {value: 20, from: paper §2}\n"
WIDE = "          quick: {replicas: 3, max_epochs: 2}\n"


@pytest.fixture
def toy(tmp_path):
    return copy_config(tmp_path, TOY)


def hashes(clone: Path, tier: str = "paper") -> dict[str, str]:
    return {e.id: e.config_hash for e in resolve_tier(load_project(clone), tier)}


@pytest.mark.parametrize("tier", ["quick", "reduced", "paper"])
def test_the_committed_configuration_is_sound(tier):
    for experiment in resolve_tier(load_project(ROOT), tier):
        assert experiment.is_check or experiment.origins


def test_the_example_of_the_docs_is_sound(tmp_path):
    project = load_project(add_example(copy_config(tmp_path)))
    names = [e.id for e in resolve_tier(project, "quick") if e.paper == "sizes"]
    assert {"sizes/units-10", "sizes/units-20"} <= set(names)
    paper = project.papers["sizes"]
    for kind in ("figures", "tables"):
        assert all(find_function(kind, display.function) for display in getattr(paper, kind).values())


def test_the_experiment_the_alternative_and_the_dataset_of_the_docs_are_sound(tmp_path):
    text = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
    clone_part = text.partition("\n## An experiment")[2]  # what stands above is for a folder outside of the clone
    experiment, alternative, dataset = re.findall(r"```yaml\n(.*?)```", clone_part, re.DOTALL)
    clone, datasets = copy_config(tmp_path), dataset.replace("prepare: sums", "prepare: ptb")
    edit(clone, "papers/rrntn.yaml", "\nexperiments:\n", f"\nexperiments:\n{experiment}")
    paper = (clone / "config/papers/rrntn.yaml").read_text(encoding="utf-8")
    (assumption,) = re.findall(r"\n  initial-state:\n.*?    alternatives:\n", paper, re.DOTALL)
    edit(clone, "papers/rrntn.yaml", assumption, assumption + alternative)
    edit(clone, "config.yaml", "\ndatasets:\n", f"\ndatasets:\n{datasets}")
    project = load_project(clone)
    configs = {e.id: e.config for e in resolve_tier(project, "quick")}
    assert configs["rrntn/s-rnn-50"]["model"]["options"]["hidden_size"] == 50
    assert configs["rrntn/s-rnn-50@initial-state=half"]["model"]["options"]["h_0"] == 0.5
    (file,) = project.find_dataset("sums").files
    assert (file.name, file.size) == ("sums.txt", None)


def test_the_citation_names_this_version_and_every_document():
    citation = load_yaml(ROOT / "CITATION.cff")
    assert citation["version"] == reprise.__version__
    cited = {(r["title"], r["year"]) for r in citation["references"]}
    # The two parts of document 002 are two papers here; whoever adds a paper need not cite it.
    assert cited <= {(re.sub(", part [12]:.*", "", p.title), p.year) for p in load_project(ROOT).papers.values()}


def test_a_changed_hyperparameter_or_raw_file_changes_its_experiments_alone(tmp_path):
    before = {e.id: e for e in resolve_tier(load_project(copy_config(tmp_path)), "paper")}
    edit(tmp_path, "papers/palindromes.yaml", "steps: {value: 226", "steps: {value: 227")
    edit(tmp_path, "config.yaml", "digest: fcea", "digest: aaaa")
    changed = {name for name, config_hash in hashes(tmp_path).items() if before[name].config_hash != config_hash}
    of_ptb = {name for name, e in before.items() if e.config.get("data", {}).get("dataset") == "ptb"}
    assert of_ptb <= changed
    assert {name.partition("@")[0] for name in changed - of_ptb} == {"palindromes/rnn-t10"}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.yaml", "engine: auto", "engine: reference"),
        ("config.yaml", "device: cpu", "device: auto"),
        ("config.yaml", "runtime: 5", "runtime: 7"),
        (DIGITS, "title: RNN, T = 5", "title: a vanilla network"),
        (DIGITS, "value: 0.5, from", "value: 0.6, from"),
        (DIGITS, "paper: {replicas: 2}", "paper: {replicas: 3}"),
        (DIGITS, "value: adam, from: paper §1", 'value: adam, from: "ours: a guess"'),
    ],
)
def test_what_does_not_decide_the_numbers_is_not_hashed(toy, file, old, new):
    before = hashes(toy)
    edit(toy, file, old, new)
    assert hashes(toy) == before


def test_the_hash_is_over_canonical_json():
    # printf of this text, piped to sha256sum: {"a":1,"b":[1.5,"x"]}
    assert compute_hash({"b": [1.5, "x"], "a": 1}) == "253252306831"
    with pytest.raises(ValueError, match="JSON"):
        compute_hash({"a": float("nan")})


def test_a_setting_replaces_as_a_whole():
    base = {"model": {"size": {"value": 1, "from": "paper"}, "name": "a"}}
    assert merge_mappings(base, {"model": {"size": {"value": 2}}}) == {"model": {"size": {"value": 2}, "name": "a"}}


def test_resolved_files_round_trip_and_are_checked(tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 2, {"x": 1}, {}, None)
    path = tmp_path / "e.json"
    path.write_text(resolved.to_json(), encoding="utf-8")
    assert read_resolved(path) == resolved
    assert resolved.list_record_paths()[1] == f"results/quick/runs/p/e/1-{resolved.config_hash}.json"
    for damaged in (resolved.to_json().replace('"x": 1', '"x": 2'), "{}", "[]", "[" * 100_000):
        path.write_text(damaged, encoding="utf-8")
        with pytest.raises(UserError, match=r"e\.json: .*reprise resolve"):
            read_resolved(path)


def test_an_alternative_changes_each_experiment_in_its_own_way_and_number(toy):
    settings = "settings: {steps: 9}, settings_of: {lstm-t5: {hidden_size: 4}}, experiments: [rnn-t5, lstm-t5]"
    other = f"other: {{{settings}, replicas_of: {{lstm-t5: 4}}, tiers: {{quick: {{replicas: 2}}}}}}"
    edit(toy, DIGITS, "source: ours\n  precision", f"source: ours\n    alternatives:\n      {other}\n  precision")
    variants = {e.base: e for e in resolve_tier(load_project(toy), "quick") if e.alternative}
    sizes = {name: (e.config["model"]["options"]["hidden_size"], e.replicas) for name, e in variants.items()}
    assert sizes == {"rnn-t5": (8, 2), "lstm-t5": (4, 4)}
    assert {e.config["training"]["options"]["steps"] for e in variants.values()} == {9}
    assert variants["rnn-t5"].id == "digits/rnn-t5@weight-law=other"
    assert variants["rnn-t5"].origins["training.steps"] == "assumption weight-law"
    edit(toy, DIGITS, "lower: rnn-t5", "lower: rnn-t5@weight-law=other")
    resolve_tier(load_project(toy))


def test_a_claim_needs_no_statistic_and_an_experiment_that_the_paper_did_not_run_no_tier(toy):
    statistic = "    kind: superiority\n    metric: last_ten_accuracy\n    split: train\n"
    edit(toy, DIGITS, statistic + "    compare: {lower: rnn-t5, higher: lstm-t5}\n", "")
    resolve_tier(load_project(toy))
    edit(toy, DIGITS, "value: 0.5", "value: null")
    edit(toy, DIGITS, "tiers: {quick: {replicas: 2}, paper: {replicas: 2}}", "tiers: {}")
    assert all(e.experiment != "rnn-t5" for e in resolve_tier(load_project(toy)))


SHORT = "    tiers: {{quick: {{replicas: 3, max_epochs: 2, {}}}}}\n"
OTHERS = "dataset: others, vocabulary_size: 200, training_sentences: 90, seed: 1"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        (UNITS_20, UNITS_20 + SHORT.format(OTHERS), "claims.S1"),
        (UNITS_20, UNITS_20 + SHORT.format("training_sentences: 90"), "claims.S1"),
        (WIDE, WIDE.replace("}", f", {OTHERS}}}"), "assumptions.start.alternatives.wide"),
        (WIDE, WIDE.replace("}", ", seed: 2}"), "assumptions.start.alternatives.wide"),
    ],
)
def test_what_is_compared_reads_one_text(tmp_path, old, new, key):
    clone = add_example(copy_config(tmp_path))
    entry = "title: Others\n    licence: none needed\n    homepage: ''\n    prepare: synthetic\n"
    edit(clone, "config.yaml", "\ndatasets:\n", f"\ndatasets:\n  others:\n    {entry}")
    edit(clone, SIZES, old, new)
    assert f"sizes.yaml: key {key}: " in mistake(clone)


def test_texts_may_differ_where_the_papers_file_says_so(tmp_path):
    clone = add_example(copy_config(tmp_path))
    known = "dataset: synthetic, vocabulary_size: 200, training_sentences: 2000, seed: 1"
    edit(clone, SIZES, UNITS_20, f"{UNITS_20}    data:\n      training_sentences: {{value: 90, from: paper §3}}\n")
    edit(clone, SIZES, "settings: {weight_std: 0.1}", "settings: {seed: 2}")
    edit(clone, SIZES, WIDE, WIDE.replace("}", f", {known}}}"))
    configs = {e.id: e.config for e in resolve_tier(load_project(clone), "quick")}
    texts = [configs[f"sizes/{e}"]["data"]["options"] for e in ("units-10", "units-20", "units-10@start=wide")]
    assert [(text["training_sentences"], text["seed"]) for text in texts] == [(2000, 1), (90, 1), (2000, 2)]
