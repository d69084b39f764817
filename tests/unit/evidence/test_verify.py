"""`reprise verify`: claims.json says what the run records say, and --check finds it out where it does not."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from config_helpers import ROOT
from verify_helpers import CLAIMS, claims, edit, leave, verify

from reprise.cli import main
from reprise.cli.verify import describe_code
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.errors import EXIT_FAILED, EXIT_USAGE
from reprise.evidence.decisions import dump_claims, read_claims
from reprise.evidence.load import load_runs
from reprise.evidence.runs import Provenance, Replica
from reprise.evidence.verdicts.claims import judge_claims
from reprise.training.provenance import digest_packages

LAW = "settings: {weight_law: fan-in-truncated-normal-corrected}, tiers: {quick: {replicas: 2}}"
VARIANTS = f"""
    source: ours
    alternatives:
      corrected: {{{LAW}, experiments: [rnn-t5, lstm-t5], co_primary: true, declared_afterwards: true}}
      one-of-two: {{{LAW}, experiments: [rnn-t5]}}
"""
BEST = "\n    source: ours\n    alternatives:\n      best: {metrics: {last_ten_accuracy: best_accuracy}}\n"
SOURCE = "\n    source: ours\n"


def judged(records: dict[str, list] | None = None) -> dict:
    """What is found of D1 where experiments and variants have these records."""
    for name, replicas in (records or {}).items():
        leave(name, *replicas)
    verify()
    return claims()["D1"]


def test_every_claim_has_a_verdict_or_a_reason(clone, capsys):
    assert verify() == 0
    decisions = claims()
    assert {key: c["answer"] for key, c in decisions.items()} == {"D1": "undecided", "D2": "agrees", "D3": "not tested"}
    expected = ["superiority", "trained", "quick", "undecided"]
    assert [decisions["D1"][k] for k in ("kind", "evidence", "budget", "answer")] == expected
    assert (decisions["D2"]["evidence"], decisions["D2"]["answer"]) == ("equation", "agrees")
    assert decisions["D1"]["n"] == {"rnn-t5": 2, "lstm-t5": 1}
    assert decisions["D3"]["notes"][0]["why"]
    output = capsys.readouterr().out
    # Kinds of evidence are never added up; a line a claim that was judged.
    assert re.search(r"equation: 1 agrees\b.* trained: 1 undecided\b", output)
    assert "digits/D1" in output
    assert "0 of 0 agreements remain" in output
    assert "0 diverged; 0 finished" in output


def test_one_record_changed_by_hand_changes_its_verdict_and_check_fails(clone, capsys):
    verify()
    before = CLAIMS.read_bytes()
    assert verify("--check") == 0
    leave("rnn-t5", 0.31)
    assert verify("--check") == EXIT_FAILED
    assert "digits/D1: the same answer" in capsys.readouterr().err
    leave("count", 3.0)
    assert verify("--check") == EXIT_FAILED
    error = capsys.readouterr().err
    assert "claims.json: " in error
    assert "digits/D1: the same answer" in error
    assert "digits/D2: agrees, records: disagrees" in error
    assert "run `python -m reprise verify --tier quick`" in error
    assert CLAIMS.read_bytes() == before
    verify()
    assert claims()["D2"]["answer"] == "disagrees"


@pytest.mark.slow
def test_files_that_follow_from_records_cannot_be_changed_unseen(clone, capsys):
    """All at once: everything is made again for one look."""
    shutil.copytree(ROOT / "config/reference", "config/reference")
    for command in ("collect", "verify", "render"):
        assert main([command, "--tier", "quick"]) == 0
    folder = Path("results/quick")
    tables = sorted((folder / "tables").glob("*.md"))
    changed = [folder / "curves.csv.gz", folder / "metrics.csv", tables[0], tables[1]]
    for path in changed[:3]:
        path.write_bytes(path.read_bytes() + b" ")
    changed[3].unlink()
    capsys.readouterr()
    assert verify("--check") == EXIT_FAILED
    names = ", ".join(str(path.relative_to(folder)) for path in changed)
    error = capsys.readouterr().err
    assert f": {names}; " in error
    assert "run collect" in error
    for command in ("collect", "render"):
        assert main([command, "--tier", "quick"]) == 0
    assert verify("--check") == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, ""),
        (b"{\xff", "(not a file of claims)"),
        (b"[" * 200_000, "(not a file of claims)"),
        (b'{"digits": {"D1": 3}}', "(not a file of claims)"),
        (b'{"digits": {}, "words": {}}', "records: "),
        ("folder", "(not a regular file)"),
    ],
)
def test_check_fails_without_a_sound_file_in_one_line(clone, content, message, capsys):
    CLAIMS.parent.mkdir(parents=True, exist_ok=True)
    if content == "folder":
        CLAIMS.mkdir()
    elif content is not None:
        CLAIMS.write_bytes(content)
    assert verify("--check") == EXIT_FAILED
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "claims.json: " in error
    assert message in error
    assert CLAIMS.exists() == (content is not None)


def test_missing_records_and_variants_of_another_tier_are_not_run(clone):
    shutil.rmtree("results/quick/runs/digits/lstm-t5")
    decision = judged()
    assert (decision["answer"], decision["notes"]) == ("not run", [{"kind": "not-trained", "titles": ["LSTM, T = 5"]}])
    project = load_project(".")
    assert judge_claims(project, load_runs(project, resolve_tier(project, "paper")))["digits"]["D1"].answer == "not run"
    # The configuration is sound, and the tier that runs the variant judges it.
    edit(SOURCE, VARIANTS.replace("quick", "paper"))
    edit("lower: rnn-t5", "lower: rnn-t5@weight-law=corrected")
    decision = judged({"lstm-t5": [0.9]})
    (note,) = decision["notes"]
    assert (decision["answer"], note["kind"], note["titles"]) == ("not run", "not-at-tier", ["RNN, T = 5 (corrected)"])


METRIC = "metric: last_ten_accuracy\n    split: train\n    compare"
LATE = METRIC.replace("last_ten_accuracy", "cross_entropy_of_letters_beyond_13").replace("train", "test")
REPORTED = "{metric: last_ten_accuracy, split: train, value"
WRONG = REPORTED.replace("accuracy", "acuracy")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (METRIC, METRIC.replace("last_ten_", ""), "claims.D1: no record has the metric accuracy (train); known are"),
        (METRIC, LATE, "claims.D1: no record has the metric cross_entropy_of_letters_beyond_13 (test)"),
        (
            REPORTED,
            WRONG,
            "experiments.rnn-t5.reported.0: no record has the metric last_ten_acuracy (train); did you mean",
        ),
        (SOURCE, BEST.replace("best_", "last_ten_acu"), "alternatives.best.metrics: no record has the metric "),
        (
            SOURCE,
            BEST.replace("last_ten_acc", "last_ten_ac"),
            "best.metrics: no claim about a metric 'last_ten_acuracy'",
        ),
    ],
)
def test_a_metric_that_nothing_has_is_a_mistake(clone, old, new, message, capsys):
    edit(old, new)
    assert verify() == EXIT_USAGE
    error = capsys.readouterr().err
    assert "digits.yaml: " in error
    assert message in error


def test_a_metric_is_no_mistake_before_anything_was_trained_and_where_a_text_has_no_word_so_long(clone):
    edit(REPORTED, WRONG)
    shutil.rmtree("results/quick/runs/digits/rnn-t5")
    assert verify() == 0
    edit(WRONG, REPORTED)
    edit(METRIC, LATE)
    fixed = {"split": "test", "axis": "position_in_word", "x": [1, 2]}
    losses = {**fixed, "metric": "cross_entropy", "unit": "nats/token", "y": [2.0, 1.0]}
    counts = {**fixed, "metric": "count", "unit": "characters", "y": [9, 8]}
    for name in ("rnn-t5", "lstm-t5"):
        leave(name, 0.5, curves=[losses, counts])
    assert judged()["answer"] == "undecided"


def test_of_another_corpus_the_papers_number_is_left_out(clone):
    other = "dataset: synthetic, vocabulary_size: 16, training_sentences: 5, seed: 1"
    edit("tiers: {quick: {replicas: 2}, paper", f"tiers: {{quick: {{replicas: 2, {other}}}, paper")
    edit("lstm}\n    tiers: {quick: {replicas: 1}", f"lstm}}\n    tiers: {{quick: {{replicas: 1, {other}}}")
    decision = judged({"rnn-t5": [0.30, 0.32], "lstm-t5": [0.90]})
    assert decision["comparisons"][0]["paper"] is None
    # That corpus may lack what the paper counts of its own.
    edit("{metric: last_ten_accuracy, split: train, value", "{metric: sentences, split: train, value")
    assert verify() == 0


def test_readings_say_where_a_claim_holds(clone, capsys):
    edit(SOURCE, VARIANTS)
    corrected = {"rnn-t5@weight-law=corrected": [0.90, 0.92], "lstm-t5@weight-law=corrected": [0.30, 0.32]}
    decision = judged({**corrected, "rnn-t5@weight-law=one-of-two": [0.90, 0.92]})
    # The LSTM rests on the assumption too and was not run under the second alternative.
    alternative = decision["alternatives"]["weight-law=one-of-two"]
    assert [alternative[key] for key in ("answer", "flips", "comparisons_judged", "of", "experiments")] == [
        "not run",
        False,
        0,
        1,
        [],
    ]
    under = decision["alternatives"]["weight-law=corrected"]
    keys = ("answer", "holds", "flips", "comparisons_judged", "of")
    assert [under[key] for key in keys] == ["disagrees", False, True, 1, 1]
    assert under["experiments"] == ["rnn-t5", "lstm-t5"]
    expected = {"holds": 1, "of": 2, "decided": False, "chosen": True, "against": ["weight-law=corrected"]}
    assert decision["settings"] == expected
    # A reading of equal rank stands beside the claim with all that is said of it.
    ((name, co_primary),) = decision["co_primary"].items()
    assert (name, co_primary["answer"]) == ("weight-law=corrected", "disagrees")
    assert (co_primary["declared_afterwards"], co_primary["comparisons"][0]["estimate"]) == (
        True,
        pytest.approx(0.31 - 0.91),
    )
    assert (claims()["D2"]["alternatives"], claims()["D2"]["settings"]) == ({}, None)
    assert main(["readings", "digits", "--tier", "quick"]) == 0
    assert "weight-law=corrected" in capsys.readouterr().out


def test_an_alternative_is_judged_on_the_comparisons_that_were_run_under_it(clone):
    edit(SOURCE, VARIANTS)
    edit("kind: superiority", "kind: threshold")
    edit("compare: {lower: rnn-t5, higher: lstm-t5}", "level: {experiments: [rnn-t5, lstm-t5], at_most: 0.5}")
    decision = judged({"rnn-t5@weight-law=one-of-two": [0.90, 0.92]})
    under = decision["alternatives"]["weight-law=one-of-two"]
    # The RNN alone keeps the bound as chosen and not under the alternative; the LSTM never did.
    assert (under["before"], under["answer"], under["flips"]) == ("agrees", "disagrees", True)
    assert ([under["comparisons_judged"], under["of"]], under["experiments"]) == ([1, 2], ["rnn-t5"])


@pytest.mark.parametrize(("bound", "verdict"), [("below", "not judged"), ("above", "disagrees")])
def test_under_an_alternative_whose_model_did_not_learn_a_claim_is_void(clone, bound, verdict, capsys):
    rule = f"learned: {{metric: last_ten_accuracy, split: train, {bound}: 0.5, why: chance}}"
    edit(SOURCE, VARIANTS.replace("experiments: [rnn-t5]}", f"experiments: [rnn-t5], {rule}}}"))
    edit("kind: superiority", "kind: threshold")
    edit("compare: {lower: rnn-t5, higher: lstm-t5}", "level: {experiments: [rnn-t5], at_most: 0.5}")
    under = judged({"rnn-t5@weight-law=one-of-two": [0.90, 0.92]})["alternatives"]["weight-law=one-of-two"]
    assert (under["answer"], under["flips"]) == (verdict, verdict == "disagrees")
    edit(rule, rule.replace("accuracy", "acuracy"))
    assert verify() == EXIT_USAGE
    error = capsys.readouterr().err
    assert "alternatives.one-of-two.learned: " in error
    assert "last_ten_acuracy" in error


def test_another_metric_of_the_same_records_is_an_alternative(clone):
    edit(SOURCE, BEST)
    rnn = [{"last_ten_accuracy": 0.30, "best_accuracy": 0.9}, {"last_ten_accuracy": 0.32, "best_accuracy": 0.92}]
    # A metric that some records lack flips nothing.
    for lstm, expected in (({"best_accuracy": 0.1}, (False, True, [1, 1])), ({}, (None, False, [1, 1]))):
        decision = judged({"rnn-t5": rnn, "lstm-t5": [{"last_ten_accuracy": 0.9, **lstm}]})
        under = decision["alternatives"]["weight-law=best"]
        assert (under["holds"], under["flips"], [under["comparisons_judged"], under["of"]]) == expected


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda entry: None, "digits.D1"),
        (lambda entry: {}, "digits.D1"),
        (lambda entry: {**entry, "answer": "perhaps"}, "digits.D1.answer"),
        (lambda entry: {**entry, "n": {"rnn-t5": "two"}}, "digits.D1.n.rnn-t5"),
        (lambda entry: {**entry, "colour": "red"}, "digits.D1.colour"),
        (lambda entry: {**entry, "comparisons": [{"kind": "ranks"}]}, "digits.D1.comparisons.0"),
    ],
)
@pytest.mark.parametrize("command", ["list digits", "show digits/D1"])
def test_a_damaged_file_of_claims_is_refused_by_its_readers_in_one_line(clone, change, key, command, capsys):
    verify()
    written = json.loads(CLAIMS.read_text(encoding="utf-8"))
    written["digits"]["D1"] = change(written["digits"]["D1"])
    CLAIMS.write_text(json.dumps(written), encoding="utf-8")
    capsys.readouterr()
    assert main([*command.split(), "--tier", "quick"]) == EXIT_USAGE
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert f"claims.json: key {key}" in line
    assert "run `python -m reprise verify --tier quick`" in line


def test_what_is_written_is_what_is_read(clone):
    """The file is a dump of the same classes, to six digits."""
    verify()
    project = load_project(".", {"tier": "quick"})
    judged = judge_claims(project, load_runs(project, resolve_tier(project)))
    assert dump_claims(read_claims(Path(), "quick")) == dump_claims(judged) == CLAIMS.read_text(encoding="utf-8")


def test_a_command_that_is_killed_while_check_makes_files_again_is_one_line(clone, capsys, monkeypatch):
    """For want of memory, for example: it says nothing itself."""
    assert main(["collect", "--tier", "quick"]) == 0
    assert verify() == 0
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, -9, "", ""))
    capsys.readouterr()
    assert verify("--check") == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "collect --tier quick" in line
    assert "-9" in line


def test_a_record_of_another_model_file_counts_as_made_by_other_code(tmp_path):
    (tmp_path / "model.py").write_text("tanh", encoding="utf-8")
    digests = {"model.py": hashlib.sha256(b"tanh").hexdigest()}
    code = {"packages": ["models"], "sha256": digest_packages(("models",))}
    replica = Replica(0, None, True, {}, made=Provenance(code=code, sources=digests))
    assert describe_code([replica], tmp_path).startswith("1; 0 were made")
    (tmp_path / "model.py").write_text("sigmoid", encoding="utf-8")
    assert describe_code([replica], tmp_path).startswith("1; 1 were made")
    (tmp_path / "model.py").unlink()
    assert describe_code([replica], tmp_path).startswith("1; 1 were made")
