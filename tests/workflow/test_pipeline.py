"""The pipeline from nothing to its page, and what it does again after a change: no more than the change asks for."""

import base64
import csv
import json
import os
import re
import shutil
import time
import zlib
from pathlib import Path

import pytest
from project import ROOT, result_bytes

from reprise.errors import EXIT_USAGE

pytestmark = pytest.mark.pipeline

DIGITS, CONFIG = "config/papers/digits.yaml", "config/config.yaml"
REPLICAS = {"digits/rnn-t5": 2, "digits/lstm-t5": 1, "digits/count": 1, "words/s-rnn-4": 2}
DRAWN = {"displays_digits": 1, "displays_words": 1, "page": 1}
JUDGED = {"claims": 1, **DRAWN}


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_from_nothing_to_the_page(first_run):
    project, run = first_run
    results = project.root / "results" / "quick"
    assert run.jobs == {"resolve": 1, "prepare": 1, "train": 6, "collect": 1, **JUDGED}
    # Before the first job: what is missing, and how long that will take as far as anybody knows.
    before = re.split(r"^Job \d+: ", run.err, maxsplit=1, flags=re.MULTILINE)[0]
    assert re.search(r"^reprise: tier quick: replicas missing: 6; .+ time is not known: \d+$", before, re.MULTILINE)
    figures = {f"digits-curves.{kind}" for kind in ("svg", "png", "pdf")}
    tables = {f"{n}.{kind}" for n in ("digits-convergence", "words-perplexity") for kind in ("csv", "md", "html")}
    assert {p.name for p in (results / "figures").iterdir()} == figures
    assert {p.name for p in (results / "tables").iterdir()} == tables
    page = (project.root / "results/report.html").read_text(encoding="utf-8")
    folded = re.findall(r'<script type="text/plain" data-name="[^"]+">([^<]+)</script>', page)
    page += "".join(zlib.decompress(base64.b64decode(part)).decode("utf-8") for part in folded)
    assert all(title in page for title in ("Palindromes of five digits", "A language model of four units"))
    rows = {f"{row['paper']}/{row['experiment']} {row['replica']}" for row in table(results / "metrics.csv")}
    assert rows == {f"{name} {replica}" for name, count in REPLICAS.items() for replica in range(count)}
    claims = json.loads((results / "claims.json").read_text(encoding="utf-8"))["digits"]
    assert [claims[key]["answer"] for key in ("D2", "D3")] == ["agrees", "not tested"]
    assert claims["D1"]["n"] == {"rnn-t5": 2, "lstm-t5": 1}
    assert not list(project.root.rglob("*.part"))


def test_a_configuration_that_changed_while_the_pipeline_ran_is_not_trained(clone):
    """`reprise resolve` writes the resolved configurations anew, which waiting jobs name."""
    planned = clone.snakemake("--dry-run", "--printshellcmds")
    (command,) = re.findall(r"(PYTHONPATH=src .* train digits/lstm-t5 .*) > \S+ 2>&1", planned.out, re.MULTILINE)
    assert not (clone.root / "results/quick/config").exists(), "a plan writes nothing"
    clone.edit(DIGITS, "value: 30,", "value: 31,")
    assert clone.reprise("resolve", "--tier", "quick").returncode == 0
    refused = clone.run("sh", "-c", command)
    assert refused.returncode == EXIT_USAGE
    assert refused.stderr.startswith("reprise: error: results/quick/config/digits/lstm-t5.json: the hash of ")
    assert refused.stderr.endswith("the configuration was changed while the pipeline ran; run it again\n")
    assert clone.records() == []


LSTM = "    model: {name: lstm}\n"


def another_line(module: str) -> tuple[str, str, str]:
    return f"src/reprise/{module}", '"""', '# another line\n"""'


# What is changed (file, old, new), the replicas that train then, and the jobs.
CHANGES: dict[str, tuple[list[tuple[str, str, str]], list[str], dict[str, int]]] = {
    "nothing": ([], [], {}),
    "a hyperparameter of one experiment": (
        [
            (DIGITS, "value: 30,", "value: 31,"),
            (DIGITS, LSTM, LSTM + '    training: {steps: {value: 30, from: "ours: short"}}\n'),
        ],
        ["digits/rnn-t5 0", "digits/rnn-t5 1"],
        {"resolve": 1, "train": 2, "collect": 1, **JUDGED},
    ),
    "one replica more": (
        [(DIGITS, "quick: {replicas: 2}", "quick: {replicas: 3}")],
        ["digits/rnn-t5 2"],
        {"resolve": 1, "train": 1, "collect": 1, **JUDGED},
    ),
    "one replica less": ([(DIGITS, "quick: {replicas: 2}", "quick: {replicas: 1}")], [], {"collect": 1, **JUDGED}),
    "what decides no number": (
        [
            (CONFIG, "engine: auto", "engine: reference"),
            (CONFIG, "device: cpu", "device: auto"),
            (CONFIG, "title: Palindromes of random", "title: Palindromes of any"),
            (DIGITS, "title: RNN, T = 5", "title: The RNN"),
            (DIGITS, "value: 0.5,", "value: 0.6,"),
        ],
        [],
        JUDGED,
    ),
    # A record is named by what decides its numbers; who changes how they are computed says so there.
    "training code": (
        [
            ("src/reprise/training/trainer.py", "import torch\n", "import torch  # noqa: F401\n"),
            ("workflow/rules/train.smk", "--threads {threads}", "--threads  {threads}"),
        ],
        [],
        {},
    ),
    "code that judges": ([another_line("evidence/arithmetic.py")], [], {"collect": 1, **JUDGED}),
    "code that measures": ([another_line("evaluation/text_measures.py")], [], {"collect": 1, **JUDGED}),
    "code that draws": ([another_line("report/parts/style.py")], [], DRAWN),
    # Snakemake compares the content of what is newer.
    "code that is touched": ([("src/reprise/report/parts/style.py", "import", "import")], [], {}),
    "an equation": ([another_line("models/lstm.py")], [], {"page": 1}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_makes_what_follows_from_it_alone(finished, change):
    edits, *follows = CHANGES[change]
    for edit in edits:
        finished.edit(*edit)
    plan = finished.plan()
    assert [plan.trained, plan.jobs] == follows


@pytest.mark.parametrize(
    ("file", "jobs"), [("paper/claims.json", DRAWN), ("reduced/claims.json", {"page": 1}), ("paper/a.json", {})]
)
def test_what_is_shown_of_another_tier_is_an_input(finished, file, jobs):
    """The page shows every tier, and a table says which verdicts of the tier paper are not its own."""
    path = finished.root / "results" / file
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    assert finished.plan().jobs == jobs


def test_a_file_of_another_tier_that_is_dated_in_the_future_loses_no_page(finished):
    """Snakemake removes an output that is older than its inputs once its job has ended."""
    claims = finished.root / "results/reduced/claims.json"
    claims.parent.mkdir()
    claims.write_text("{}", encoding="utf-8")
    os.utime(claims, times=(time.time() + 86400,) * 2)
    run = finished.snakemake()
    assert (run.status, "results/reduced/claims.json" in run.log) == (EXIT_USAGE, True)
    assert (finished.root / "results/report.html").is_file()


def test_a_record_that_is_named_can_be_trained_again(finished):
    (record,) = finished.records("words/s-rnn-4/0-*.json")
    named = [str(record.relative_to(finished.root))]
    before = result_bytes(record)
    assert finished.snakemake("--dry-run", targets=named).jobs == {}
    # As in a fresh clone: neither the corpus nor the resolved configuration lies there.
    for folder in ("data", "results/quick/config"):
        shutil.rmtree(finished.root / folder)
    assert finished.snakemake("--dry-run", targets=named).jobs == {}
    record.write_text(record.read_text(encoding="utf-8").replace("finished", "diverged"), encoding="utf-8")
    run = finished.snakemake("--force", targets=named)
    assert run.status == 0, run.log
    assert run.jobs == {"resolve": 1, "prepare": 1, "train": 1}
    assert result_bytes(record) == before


def test_a_forced_training_waits_for_its_configuration_to_be_written_anew(finished):
    finished.edit(DIGITS, "title: RNN, T = 5", "title: The RNN")
    (record,) = finished.records("digits/rnn-t5/0-*.json")
    run = finished.snakemake("--force", targets=[str(record.relative_to(finished.root))])
    assert run.status == 0, run.log
    assert run.trained == ["digits/rnn-t5 0"]
    run = finished.snakemake("--dry-run", "--forcerun", str(record.relative_to(finished.root)))
    assert run.trained == ["digits/rnn-t5 0"]
    assert run.jobs["collect"] == run.jobs["claims"] == 1


def test_a_target_of_another_tier_names_the_option(finished):
    for target in ("results/paper/tables/words-perplexity.md", "results/reduced/claims.json"):
        run = finished.snakemake("--dry-run", targets=[target])
        assert run.status == 1
        assert f"write --config tier={target.split('/')[1]}" in run.log


def test_a_diverged_replica_is_shown_and_stops_nothing(finished):
    """A learning rate that leaves float32 at once: a record without numbers, and tables that say so."""
    finished.edit(DIGITS, "value: 0.01,", "value: 1.0e+37,")
    finished.edit(DIGITS, "value: 30,", "value: 40,")
    run = finished.snakemake()
    assert run.status == 0, run.log
    results = finished.root / "results/quick"
    rows = [row for row in table(results / "metrics.csv") if row["experiment"] == "lstm-t5"]
    assert [(r["status"], r["value"], r["metric"]) for r in rows] == [("diverged", "", "")]
    assert "lstm-t5" not in json.loads((results / "metrics.json").read_text(encoding="utf-8"))["digits"]
    shown = {row["experiment"]: row for row in table(results / "tables/digits-convergence.csv")}
    assert shown["lstm-t5"]["diverged"] == "1", shown
    assert "nan" not in str(shown).lower()


def test_snakemakes_own_report_holds_figures_tables_and_the_page(finished):
    # Two papers of one document, as the palindromes and the books are.
    finished.edit("config/papers/words.yaml", 'document: "001"', 'document: "002"')
    run = finished.snakemake("--report", "snakemake.html")
    assert run.status == 0, run.log
    assert "WARNING" not in run.log
    text = (finished.root / "snakemake.html").read_text(encoding="utf-8")
    held = ("digits-curves.svg", "digits-convergence.html", "words-perplexity.html", "report.html")
    held += ("002 Palindromes of five digits", "First step at 100 % accuracy", "Everything on one page")
    assert [name for name in held if name not in text] == []


@pytest.mark.parametrize("tier", ["quick", "reduced", "paper"])
def test_of_every_tier_what_has_no_record_is_planned(clone, tier):
    """With the papers and records that are committed; raw files and corpora have rules that make them."""
    shutil.rmtree(clone.root / "config")
    shutil.copytree(ROOT / "config", clone.root / "config")
    (clone.root / "results" / tier).mkdir(parents=True)
    if tier != "quick":
        (clone.root / "results" / tier / "runs").symlink_to(ROOT / "results" / tier / "runs")
    # Without a url, and without a mirror here: its replicas would be left out.
    raw = clone.root / "data/raw/ud-french-gsd-r2.5-rebuilt/fr_gsd-ud-train.conllu.gz"
    raw.parent.mkdir(parents=True)
    raw.touch()
    run = clone.snakemake("--dry-run", tier=tier)
    assert run.status == 0, run.log[-2000:]
    listed = json.loads(clone.reprise("list", "--tier", tier, "--json").stdout)["papers"]
    experiments = [experiment for paper in listed for experiment in paper["experiments"]]
    replicas = {f"{e['id']} {replica}" for e in experiments for replica in range(e["replicas"])}
    recorded = {f"{e['id']} {Path(r).name.partition('-')[0]}" for e in experiments for r in e["records"]}
    assert set(run.trained) == replicas - recorded
    # `make run` has a few minutes: the quick tier has every rule, and few jobs.
    if tier == "quick":
        assert 30 < run.jobs["train"] < sum(run.jobs.values()) <= 60
    else:
        assert recorded
