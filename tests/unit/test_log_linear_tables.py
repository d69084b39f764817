"""Tables 1 to 3 of document 004: from a corpus over its record to what people read."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_report_case import TIER, dataset, display, setting, write_collected
from treebank_helpers import toy_corpus

from reprise.config.project import Project, load_project
from reprise.config.resolve import resolve_tier
from reprise.config.schema import Config, Paper
from reprise.data.corpus import Corpus
from reprise.errors import UserError
from reprise.evidence.collect import collect
from reprise.records.resolved import Resolved
from reprise.report.context import Context, load_contexts
from reprise.report.tables import Table
from reprise.report.tables.log_linear import PAPER_TAGS, splits, statistics, tags
from reprise.training.loop import Job, run_job
from reprise.training.protocols.corpus_facts import CorpusFacts, corpus_metrics

ROOT = Path(__file__).parents[2]


def facts_of(title: str, name: str, **more: Any) -> dict[str, Any]:
    data = {"dataset": name, "accounting": setting("rows"), "validation": setting("last")}
    return {
        "title": title,
        "model": {"name": "none"},
        "data": {**data, "validation_sentences": setting(1)},
        "training": {"protocol": "corpus-facts"},
        "precision": setting("float64"),
        "tiers": {TIER: {"replicas": 1}},
        "cited_by": ["table-1", "table-2", "table-3"],
        **more,
    }


def reported(metric: str, split: str, value: float) -> dict[str, Any]:
    return {"metric": metric, "split": split, "value": value, "from": "paper Table 2"}


PAPER = Paper.model_validate(
    {
        "paper": "toy",
        "document": "004",
        "title": "A toy paper",
        "authors": "Nobody",
        "year": 2016,
        "summary": "A summary.",
        "experiments": {
            "corpus": facts_of(
                "The treebank",
                "toy",
                reported=[
                    *(reported("sentences", "train", 5), reported("tokens", "all", 20)),
                    reported("average_sentence_length", "all", 28.15),
                ],
            ),
            "waiting": facts_of("Another treebank", "other"),
        },
        "tables": {f"table-{i}": display(f"log_linear.{n}") for i, n in enumerate(("splits", "statistics", "tags"), 1)},
        "assumptions": {
            "tokens": {
                "title": "Tokens",
                "choice": "rows",
                "why": "463,069.",
                "source": "ours",
                "alternatives": {
                    "words": {
                        "settings": {"accounting": "words"},
                        "experiments": ["corpus"],
                        "tiers": {TIER: {"replicas": 1}},
                    }
                },
            }
        },
    }
)
CONFIG = {
    "tier": TIER,
    "papers": ["toy"],
    "engine": "auto",
    "device": "auto",
    "datasets": {n: {**dataset(f"Treebank {n}"), "prepare": "ud_french"} for n in ("toy", "other")},
    "resources": dict.fromkeys(("fetch", "prepare", "train", "report"), {"mem_mb": 1000, "runtime": 5}),
}


def make_context(root: Path) -> Context:
    """The context of a project in which all but "waiting" has run, each experiment from a corpus of its own."""
    project = Project(root, Config.model_validate(CONFIG), {"toy": PAPER})
    experiments = resolve_tier(project)
    for experiment in experiments:
        if experiment.base == "corpus":
            corpus = root / experiment.corpus
            toy_corpus(root / "raw", **experiment.config["data"]["options"]).save(corpus)
            run_job(Job(experiment, 0, root / experiment.record_path(0), corpus, root=root))
    collect(experiments, root, root / "results" / TIER)
    return load_contexts(project, experiments)["toy"]


@pytest.fixture(scope="module")
def context(tmp_path_factory) -> Context:
    return make_context(tmp_path_factory.mktemp("project"))


def read(table: Table, experiment: str) -> dict[str, list[str]]:
    """Paper, ours and their difference as they are read, by quantity."""
    of = table.rows.experiment == experiment
    columns = ["Paper", "Ours", "Ours − paper"]
    return dict(zip(table.rows.quantity[of], table.reading()[columns][of].to_numpy().tolist(), strict=True))


def test_splits_stand_beside_the_papers(context):
    table = splits(context, "table-1", {})
    assert read(table, "corpus") == {
        "Training": ["5", "2", "−3"],
        "Validation": ["–", "1", "–"],
        "Test1": ["–", "1", "–"],
        "Test2": ["–", "1", "–"],
    }
    assert read(table, "waiting")["Training"] == ["–", "not run yet", "–"]
    assert list(dict.fromkeys(table.rows.corpus)) == ["Treebank toy", "Treebank other"]


def test_statistics_show_every_accounting(context):
    table = statistics(context, "table-2", {})
    assert list(dict.fromkeys(table.rows.experiment)) == ["corpus", "corpus@tokens=words", "waiting"]
    assert list(dict.fromkeys(table.rows.title))[1] == "The treebank (words alone)"
    # 5 sentences of 12 words, a range, and three lines each: 28 tokens of 9 types.
    assert read(table, "corpus") == {
        "Total sentences": ["–", "5", "–"],
        "Tokens": ["20", "28", "8"],
        "Avg. sent. length": ["28.15", "5.60", "−22.55"],
        "Types": ["–", "9", "–"],
        "Token-type ratio": ["–", "3.11", "–"],
    }
    assert read(table, "corpus@tokens=words")["Tokens"] == ["20", "12", "−8"]


def test_a_corpus_whose_record_has_other_facts_is_not_called_not_run(context):
    rows = context.metrics.assign(metric="other_" + context.metrics.metric)
    other = replace(context, metrics=rows)
    assert read(statistics(other, "table-2", {}), "corpus")["Tokens"][1] == "not measured"
    table = tags(other, "table-3", {})
    assert set(table.reading()["The treebank: tokens"]) == {"not measured"}
    assert table.notes[0].endswith(": not measured.")


def test_tags_are_those_of_the_paper_and_of_the_corpora(context):
    assert len(PAPER_TAGS) == len(set(PAPER_TAGS)) == 52
    assert sum(tag.startswith("POS:") for tag in PAPER_TAGS) == 19
    table = tags(context, "table-3", {})
    assert table.rows.tag.tolist() == PAPER_TAGS  # the toy treebank has no other
    rows = dict(zip(table.rows.tag, table.reading().to_numpy().tolist(), strict=True))
    assert rows["POS:NIL"] == ["POS:NIL", "yes", "15", "1", *["not run yet"] * 2]
    assert rows["Gender:Fem"][2:4] == ["2", "2"]
    assert rows["Case:Abl"][2:4] == ["0", "0"]
    absent = ", ".join(tag for tag in PAPER_TAGS if rows[tag][2] == "0")
    assert table.notes == [
        f"The treebank (Treebank toy): 10 tags, the paper's 52 without {absent}.",
        "Another treebank (Treebank other): not run yet.",
    ]


def test_tags_that_the_paper_has_not_come_last_with_a_note(tmp_path, context):
    metrics = context.metrics.fillna("").to_dict("records")
    row = {**metrics[0], "value": 7}
    metrics += [{**row, "metric": f"tag_{kind}.POS:CCONJ"} for kind in ("tokens", "types")]
    write_collected(tmp_path / "results" / TIER, metrics, [])
    project = Project(tmp_path, Config.model_validate(CONFIG), {"toy": PAPER})
    table = tags(load_contexts(project, context.experiments)["toy"], "table-3", {})
    assert table.reading().iloc[-1].tolist()[:4] == ["POS:CCONJ", "no", "7", "7"]
    assert table.notes[0].endswith("; besides POS:CCONJ.")


def test_facts_become_metrics_by_their_names(tmp_path):
    corpus = toy_corpus(tmp_path)
    found = {(m["split"], m["metric"]): m["value"] for m in corpus_metrics(corpus)}
    assert len(found) == len(corpus_metrics(corpus))
    assert found["train", "tokens"] == corpus.facts["tokens"]["train"]
    assert found["all", "tokens"] == corpus.facts["corpus"]["tokens"]
    assert found["all", "treebank.sentences.train"] == 3
    assert found["all", "tag_types.POS:NOUN"] == 4
    assert not any(metric.startswith(("boundaries", "tags", "agreement.kinds")) for _, metric in found)


def test_facts_survive_a_stop_and_need_a_corpus(tmp_path):
    toy_corpus(tmp_path).save(tmp_path / "a.npz")
    config = {"data": {"dataset": "toy", "options": {}}}
    training = CorpusFacts(config, 0, tmp_path / "a.npz", "auto", None)
    assert (training.finished, training.outcome().metrics) == (False, [])
    training.advance()
    again = CorpusFacts(config, 1, tmp_path / "a.npz", "auto", None)
    again.restore(training.state())
    assert again.finished
    assert again.outcome() == training.outcome()
    assert Corpus.load(tmp_path / "a.npz").facts["corpus"]["types"] in [m["value"] for m in again.outcome().metrics]
    with pytest.raises(UserError, match="toy has no corpus"):
        CorpusFacts(config, 0, None, "auto", None)


@pytest.mark.parametrize(
    ("old", "new", "remedy"),
    [
        ("name: elman", "name: none", "write elman or lstm"),
        ("name: elman", "name: tagger", "final-digit does not train 'tagger'; write elman or lstm"),
        ("final-digit", "corpus-facts", "write none"),
    ],
)
def test_a_model_stands_where_one_is_trained(tmp_path, old, new, remedy):
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config/papers/palindromes.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError, match=rf"model\.name: .*{remedy}"):
        resolve_tier(load_project(tmp_path))


def test_the_record_of_facts_is_hashed_with_its_data(context):
    experiment: Resolved = next(e for e in context.experiments if e.experiment == "corpus")
    assert experiment.config["model"] == {"name": "none", "options": {}}
    variant = next(e for e in context.experiments if e.alternative == "words")
    assert variant.config_hash != experiment.config_hash
