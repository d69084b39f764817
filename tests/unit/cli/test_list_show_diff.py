"""`reprise list`, `show` and `diff` say what the records, the configuration and claims.json hold."""

import json
import math
import re
import statistics
from pathlib import Path

import config_helpers
import pytest
from scipy import stats
from verify_helpers import CLAIMS, claims, edit, leave, resolved, verify

from reprise import cli
from reprise.records.record import compute_result_digest, read_record, write_record

RNN = "digits/rnn-t5"
ACCURACIES = (0.30, 0.32, 0.37, 0.31)


@pytest.fixture(autouse=True)
def judged(clone):
    assert verify() == 0


def run(capsys, command):
    capsys.readouterr()
    status = cli.main(command.split())
    return status, capsys.readouterr().out


def record(replica=0, name="rnn-t5"):
    return Path(resolved()[f"digits/{name}"].get_record_path(replica))


def write_variant(value, path="again.json", **run):
    """Replica 0 of the RNN as another training might have left it."""
    content = read_record(record())
    content["metrics"][0]["value"] = value
    content["run"] = {**content["run"], **run}
    write_record(Path(path), {**content, "result_sha256": compute_result_digest(content)})
    return path


def test_list_counts_records_and_quotes_answers(capsys):
    status, out = run(capsys, "list --tier quick --json")
    assert status == 0
    papers = {p["paper"]: p for p in json.loads(out)["papers"]}
    assert list(papers) == ["digits", "words"]
    experiments = {e["id"]: e for e in papers["digits"]["experiments"]}
    counts = {"digits/rnn-t5": (2, 2), "digits/lstm-t5": (1, 1), "digits/count": (1, 1)}
    assert {k: (len(e["records"]), e["replicas"]) for k, e in experiments.items()} == counts
    assert (experiments[RNN]["records"], experiments[RNN]["config_hash"]) == (
        resolved()[RNN].list_record_paths(),
        record().stem[2:],
    )
    answers = {c["id"].partition("/")[2]: c["answer"] for c in papers["digits"]["claims"]}
    assert {k: a.partition(" (")[0] for k, a in answers.items()} == {k: c["answer"] for k, c in claims().items()}
    assert all(not e["records"] for e in papers["words"]["experiments"])
    # Of one paper the others are left out.
    assert [p["paper"] for p in json.loads(run(capsys, "list words --tier quick --json")[1])["papers"]] == ["words"]
    table = run(capsys, "list digits --tier quick")[1]
    assert ("2 of 2" in table, "s-rnn-4" in table) == (True, False)


def test_show_has_equation_settings_numbers_and_the_command(capsys):
    status, out = run(capsys, f"show {RNN} --tier quick")
    assert status == 0
    rows = {tuple(line.split()[:2]) for line in out.splitlines() if line.strip()}
    assert {("model.hidden_size", "8"), ("training.steps", "30"), ("data.length", "5")} <= rows
    assert any(" = " in line and "tanh" in line for line in out.splitlines())
    numbers = next(line.split() for line in out.splitlines() if line.startswith("last_ten_accuracy"))
    assert numbers[1:6] == ["train", "0.5", "0.31", f"{statistics.stdev([0.30, 0.32]):.6g}", "2"]
    assert f"python -m reprise train {RNN} --tier quick --replica 0 --engine reference --output again.json" in out
    # Of a claim what is compared, the paper's words in quotation marks alone, and its experiments.
    status, out = run(capsys, "show digits/D1 --tier quick")
    assert (status, out.startswith("digits/D1: The LSTM is better than the RNN\n")) == (0, True)
    assert out.count("“the LSTM is better than the RNN” (Figure 1)") == 1
    assert "“" not in run(capsys, "show digits/D2 --tier quick")[1]
    assert {RNN, "digits/lstm-t5"} <= {word.rstrip(":") for word in out.split()}


def test_show_has_a_former_criterion_with_its_answer(capsys):
    former = "    was: [{criterion: By rank., answer: Undecided., why: Ranks tie.}]\n    afterwards: the test\n"
    edit("    kind: superiority\n", f"{former}    kind: superiority\n")
    out = run(capsys, "show digits/D1 --tier quick")[1]
    assert all(words in " ".join(out.split()) for words in ("By rank.", "Undecided.", "Ranks tie."))


def test_show_has_the_answer_of_another_tier_the_generated_data_apart(capsys):
    answer, target = claims()["D1"]["answer"], Path("results/paper/claims.json")
    assert "--tier quick:" not in run(capsys, "show digits/D1 --tier paper")[1]
    target.parent.mkdir()
    target.write_text(CLAIMS.read_text())
    assert f"\n--tier paper: {answer}" in run(capsys, "show digits/D1 --tier quick")[1]


def test_a_printed_number_has_the_decimals_of_its_column(capsys):
    column = "reported: [{metric: last_ten_accuracy, split: train, value: 0.625, from: paper Figure 1}]"
    edit("  lstm-t5:\n", f"  lstm-t5:\n    {column}\n")
    assert re.search(r"^last_ten_accuracy +train +0\.500 ", run(capsys, f"show {RNN} --tier quick")[1], re.MULTILINE)


def test_a_printed_number_of_another_text_is_called_so(capsys):
    assert "another text" not in run(capsys, f"show {RNN} --tier quick")[1]
    other = "  digits: {title: Other digits, licence: none, homepage: '', prepare: palindromes}\n"
    config_helpers.edit(Path(), "config.yaml", "datasets:\n", f"datasets:\n{other}")
    for replicas in (2, 1):
        edit(f"quick: {{replicas: {replicas}}}", f"quick: {{replicas: {replicas}, dataset: digits, length: 5}}")
    assert "another text" in run(capsys, f"show {RNN} --tier quick")[1]


@pytest.mark.parametrize("command", ["list", "list digits", f"show {RNN}"])
def test_runs_of_another_tier_are_hinted_at(command, capsys):
    assert "other tiers with runs: --tier quick\n" in run(capsys, f"{command} --tier paper")[1]
    assert "other tiers" not in run(capsys, f"{command} --tier quick")[1]


def test_equal_records_differ_in_nothing_and_one_replica_knows_no_spread(capsys):
    status, out = run(capsys, f"diff {write_variant(0.30, device='gpu')} {record()}")
    assert (status, "device: gpu | cpu" in out, "to the last bit" in out) == (0, True, True)
    status, out = run(capsys, f"diff {record()} {record(name='lstm-t5')}")
    assert (status, "model.name: elman | lstm" in out) == (1, True)
    record(1).unlink()
    status, out = run(capsys, f"diff {write_variant(0.31)} {record()}")
    assert (status, "fewer than two replicas" in out) == (1, True)


CODE = {"packages": ["models"], "sha256": "a" * 64}


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        ({"code": CODE}, {"code": CODE | {"sha256": "b" * 64}}, ["code"]),
        ({"code": CODE, "sources": {"m.py": "a" * 64}}, {"code": CODE, "sources": {"m.py": "b" * 64}}, ["code"]),
        ({"code": CODE, "commit": "1" * 40}, {"code": CODE, "commit": "2" * 40}, []),
        ({"code": CODE}, {}, ["code"]),
        ({"versions": {"torch": "1", "numpy": "2"}}, {"versions": {"torch": "3", "numpy": "2"}}, ["versions"]),
        ({"device": "gpu", "engine": "fused"}, {}, ["processor", "engine"]),
        ({"wall_seconds": 9.0, "resumed": 4}, {}, []),
    ],
)
def test_what_made_the_difference_is_named(one, other, named, capsys):
    leave("rnn-t5", *ACCURACIES)
    _, out = run(capsys, f"diff {write_variant(0.9, 'one.json', **one)} {write_variant(0.8, 'other.json', **other)}")
    assert [name for name in ("code", "versions", "processor", "engine") if f"{name}: the same" not in out] == named
    assert ("not recorded" in out) == ("code" in named and not other)
    assert ", ".join(named) in out.splitlines()[-1]


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_difference_is_held_to_the_spread_of_seeds(share, capsys):
    """Two single runs of one law differ by less than t SD sqrt(2) in 95 of 100 cases."""
    leave("rnn-t5", *ACCURACIES)
    limit = stats.t.ppf(0.975, 3) * statistics.stdev(ACCURACIES) * math.sqrt(2)
    status, out = run(capsys, f"diff {write_variant(ACCURACIES[0] + share * limit)} {record()}")
    assert (status, "within seeds" in out) == (int(share > 1), share < 1)
    assert f"{statistics.stdev(ACCURACIES):.6g} (n = 4)" in out


def test_a_number_of_one_record_alone_is_a_difference(capsys):
    leave("rnn-t5", *ACCURACIES)
    more = read_record(Path(write_variant(ACCURACIES[0] + 1e-6)))
    more["metrics"].append({**more["metrics"][0], "metric": "another"})
    more["result_sha256"] = compute_result_digest(more)
    write_record(Path("more.json"), more)
    status, out = run(capsys, f"diff more.json {record()}")
    assert (status, "within seeds" in out, "in one only" in out) == (1, True, True)


@pytest.mark.parametrize("command", ["list", f"show {RNN}", "collect", "verify", f"train {RNN} --replica 7"])
def test_quiet_prints_nothing_and_colours_stay_on_terminals(command, capsys):
    capsys.readouterr()
    for more in ("", " --quiet"):  # the second time `train` finds the record
        assert cli.main(f"{command} --tier quick{more}".split()) == 0
        captured = capsys.readouterr()
        assert bool(captured.out) is not bool(more)
        assert not (more and captured.err)
        assert "\x1b" not in captured.out


def test_quiet_shows_no_progress_but_why_a_run_failed(capsys):
    """A replica of one experiment trains; those of another have no corpus."""
    record(1).unlink()
    capsys.readouterr()
    assert cli.main(["run", "--tier", "quick", "--quiet"]) == 1
    assert record(1).is_file()
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("reprise: tier quick: ")
    assert "logs/run/quick.log" in err


def test_a_paper_that_is_named_twice_is_listed_once(capsys):
    status, out = run(capsys, "list digits digits --tier quick --json")
    assert (status, [paper["paper"] for paper in json.loads(out)["papers"]]) == (0, ["digits"])
