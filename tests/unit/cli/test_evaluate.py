"""`reprise evaluate` and `reprise sample` by hand, on a model that trained in a second."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import config_helpers
import pytest
from project import TOY
from verify_helpers import resolved

from reprise.cli import main
from reprise.errors import EXIT_FAILED, EXIT_USAGE

NAME = "words/s-rnn-4"
TIER = ["--tier", "quick"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A clone with the record and the weights of one replica."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        config_helpers.copy_config(folder, TOY)
        assert main(["prepare", NAME, *TIER]) == 0
        assert main(["train", NAME, *TIER, "--replica", "0", "--weights", "first"]) == 0
    return folder


@pytest.fixture
def paths(trained, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    one = resolved()[NAME]
    return Path(one.get_record_path(0)), Path(one.get_weights_path(0))


def run(capsys, *arguments):
    capsys.readouterr()
    status = main([*arguments, *TIER])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_the_record_is_measured_again(paths, capsys):
    status, out, _ = run(capsys, "evaluate", NAME)
    assert status == 0
    rows = [line.split() for line in out.splitlines() if line.startswith("perplexity")]
    assert {(row[1], row[2] == row[3]) for row in rows} == {("valid", True), ("test", True)}
    assert "those that the record names" in out


def test_losses_by_count_add_up_to_the_recorded_loss(paths, capsys):
    path, _ = paths
    record = json.loads(path.read_text(encoding="utf-8"))
    (loss,) = (m for m in record["metrics"] if (m["metric"], m["split"]) == ("cross_entropy", "test"))
    status, out, _ = run(capsys, "evaluate", NAME, "--by-count", "test")
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    for side in ("read", "predicted"):
        bands = [(int(n), float(nats)) for word, _, n, nats in (row for row in rows if row[0] == side)]
        assert sum(n for n, _ in bands) == loss["n"]
        assert sum(n * nats for n, nats in bands) / loss["n"] == pytest.approx(loss["value"], rel=1e-5)
        assert len(bands) > 1
    status, _, err = run(capsys, "evaluate", NAME, "--by-count", "tset")
    assert (status, err.count("\n")) == (EXIT_USAGE, 1)


def test_a_model_without_a_text_has_no_losses_by_count(paths, capsys):
    name = "digits/lstm-t5"
    assert run(capsys, "train", name, "--replica", "0", "--weights", "all")[0] == 0
    status, _, err = run(capsys, "evaluate", name, "--by-count", "test")
    assert (status, err.count("\n"), "--by-count test" in err) == (EXIT_USAGE, 1, True)


def test_a_model_without_a_text_is_measured_for_an_evaluation_record():
    from reprise.cli.evaluate import _measure
    from reprise.records.record import Outcome, make_metric

    outcome = Outcome(metrics=[make_metric("test", "accuracy_at_8", 0.5, "share", 1000)])
    training = SimpleNamespace(protocol="recall", measure=lambda report: outcome, engine="reference")
    measured = _measure(training, None, "cpu", by_count=True)
    assert (measured.outcome, measured.losses) == (outcome, [])


def test_a_number_beyond_rounding_fails(paths, capsys):
    from reprise.records.record import compute_result_digest, load_record, write_record

    path, _ = paths
    record = load_record(path)
    (entry,) = (m for m in record["metrics"] if (m["metric"], m["split"]) == ("cross_entropy", "test"))
    entry["value"] *= 1 + 1e-4
    write_record(path, {**record, "result_sha256": compute_result_digest(record)})
    status, out, err = run(capsys, "evaluate", NAME)
    assert status == EXIT_FAILED
    assert out.count("beyond rounding") == 2  # the perplexity with it
    assert err.count("\n") == 1


def test_without_weights_or_record_one_line_says_so(paths, capsys):
    path, weights = paths
    path.unlink()
    assert run(capsys, "evaluate", NAME)[0] == EXIT_FAILED
    weights.unlink()
    for command in ("evaluate", "sample"):
        status, _, err = run(capsys, command, NAME)
        assert (status, err.count("\n"), str(weights) in err) == (EXIT_USAGE, 1, True)
    for name in ("digits/count", "words/no-such"):
        status, _, err = run(capsys, "evaluate", name)
        assert (status, err.count("\n")) == (EXIT_USAGE, 1)


def test_a_text_of_ones_own_is_measured_in_place_of_the_test_text(paths, capsys):
    from reprise.data.corpus import Corpus

    corpus = Corpus.load(resolved()[NAME].corpus)
    test = corpus.splits["test"]
    lines = [test.tokens[a : b - 1] for a, b in zip(test.offsets, test.offsets[1:], strict=False)]
    Path("own.txt").write_text("\n".join(" ".join(corpus.vocabulary[i] for i in line) for line in lines), "utf-8")
    status, out, err = run(capsys, "evaluate", NAME, "--text", "own.txt")
    assert (status, err) == (0, "")
    record = json.loads(paths[0].read_text("utf-8"))
    (entry,) = (m for m in record["metrics"] if (m["metric"], m["split"]) == ("cross_entropy", "test"))
    assert f"{entry['value']:.6g}" in out
    for content in (b"", b"\xff\xfe", b"no-such-word\n"):
        Path("own.txt").write_bytes(content)
        status, _, err = run(capsys, "evaluate", NAME, "--text", "own.txt")
        assert (status, err.count("\n"), "own.txt" in err) == (EXIT_USAGE, 1, True)


def test_samples_repeat_by_their_seed_and_bad_options_are_one_line(paths, capsys):
    texts = [run(capsys, "sample", NAME, "--length", "12", "--seed", seed)[1] for seed in ("1", "1", "2")]
    assert texts[0] == texts[1] != texts[2]
    bad = (("--length", "0"), ("--temperature", "0"), ("--top-k", "0"), ("--beam", "2"), ("--source", "x"))
    for option in (*bad, ("--prompt", "no-such-word")):
        status, _, err = run(capsys, "sample", NAME, *option)
        assert (status, err.count("\n"), option[0] in err) == (EXIT_USAGE, 1, True)


def test_a_sample_says_where_the_record_names_other_weights(paths, capsys):
    from reprise.records.record import load_record, write_record

    path, _ = paths
    record = load_record(path)
    assert run(capsys, "sample", NAME)[2] == ""
    write_record(path, {**record, "run": {**record["run"], "weights_sha256": "0" * 64}})
    status, _, err = run(capsys, "sample", NAME)
    assert (status, err.count("\n"), str(path) in err) == (0, 1, True)
    path.write_text("{", encoding="utf-8")
    status, out, err = run(capsys, "sample", NAME)
    assert (status, err.count("\n"), str(path) in err, out != "") == (0, 1, True, True)


def test_an_evaluation_is_saved_beside_its_record_and_read_again(paths, capsys):
    from reprise.records.evaluation import read_evaluation

    path, weights = paths
    one, record = resolved()[NAME], json.loads(path.read_text("utf-8"))
    saved = Path(one.get_evaluation_path(0))
    assert run(capsys, "evaluate", NAME)[0] == 0
    assert not saved.exists()
    status, out, err = run(capsys, "evaluate", NAME, "--save")
    assert (status, err, str(saved) in out) == (0, "", True)
    evaluation = read_evaluation(saved, one, 0)
    assert evaluation["weights"]["sha256"] == record["run"]["weights_sha256"]
    assert evaluation["record_sha256"] == record["result_sha256"]
    assert evaluation["trained"] == record["run"]
    measured = {(m["metric"], m["split"]): m for m in evaluation["metrics"]}
    for entry in (m for m in record["metrics"] if m["metric"] == "cross_entropy" and m["split"] != "train"):
        result = measured["cross_entropy", entry["split"]]
        assert (result["recorded"], result["n"], result["unit"]) == (entry["value"], entry["n"], entry["unit"])
        assert result["value"] == pytest.approx(entry["value"], rel=1e-6)
        assert result["relative_difference"] == pytest.approx(result["value"] / entry["value"] - 1, abs=1e-12)
    test = measured["cross_entropy", "test"]
    for side in ("read", "predicted"):
        bands = [e for e in evaluation["losses_by_count"] if (e["split"], e["side"]) == ("test", side)]
        assert sum(e["n"] for e in bands) == test["n"]
        assert sum(e["n"] * e["value"] for e in bands) / test["n"] == pytest.approx(test["value"], rel=1e-6)
    before = saved.read_bytes()
    assert run(capsys, "evaluate", NAME, "--save")[0] == 0
    result = json.loads(saved.read_bytes())
    assert result["result_sha256"] == json.loads(before)["result_sha256"]


def test_weights_of_another_place_go_with_the_record_that_was_left_with_them(paths, capsys):
    path, weights = paths
    record_copy, weights_copy = Path("again.json"), Path("again.safetensors")
    shutil.move(weights, weights_copy)
    shutil.copy(path, record_copy)
    path.unlink()
    saved = Path(resolved()[NAME].get_evaluation_path(0))
    assert run(capsys, "evaluate", NAME, "--weights", str(weights_copy), "--save")[0] == 0
    assert json.loads(saved.read_bytes())["record_sha256"] == json.loads(record_copy.read_bytes())["result_sha256"]
    record_copy.rename("elsewhere.json")
    assert run(capsys, "evaluate", NAME, "--weights", str(weights_copy), "--save")[0] == 0
    assert json.loads(saved.read_bytes())["record_sha256"] is None
    assert run(capsys, "evaluate", NAME, "--weights", str(weights_copy), "--record", "elsewhere.json", "--save")[0] == 0
    assert json.loads(saved.read_bytes())["record_sha256"]


def test_a_named_record_of_something_else_is_refused_before_anything_is_measured(paths, capsys, monkeypatch):
    path, _ = paths
    shutil.copy(path, "named.json")
    monkeypatch.setattr("reprise.cli.evaluate._measure", lambda *_, **__: pytest.fail("measured"))
    for command in (
        ("evaluate", NAME, "--record", "bad.json"),
        ("train", "digits/rnn-t5", "--replica", "0", "--output", "named.json"),
        ("train", NAME, "--replica", "1", "--output", "named.json"),
    ):
        Path("bad.json").write_text("{")
        status, out, err = run(capsys, *command)
        assert (status, out, err.count("\n"), command[-1] in err) == (EXIT_USAGE, "", 1, True)
        assert "named.json" not in err or "name another file" in err, "no advice to remove a whole record"
    assert Path("named.json").read_bytes() == path.read_bytes()


def test_what_no_evaluation_record_holds_is_refused_and_nothing_is_written(paths, capsys):
    from reprise.records.record import compute_result_digest, load_record, write_record

    path, weights = paths
    saved = Path(resolved()[NAME].get_evaluation_path(0))
    (paths[0].parent / "own.txt").write_text("a\n", "utf-8")
    refused = (["--text", "own.txt"], ["--by-count", "test"], ["--record", "no-such.json"], ["--replica", "1"])
    for options in (*refused, ["--replica", "1", "--weights", str(weights)]):
        status, _, err = run(capsys, "evaluate", NAME, "--save", *options)
        assert (status, err.count("\n")) == (EXIT_USAGE, 1)
    record = load_record(path)
    write_record(path, {**record, "run": {**record["run"], "weights_sha256": "0" * 64}})
    status, _, err = run(capsys, "evaluate", NAME, "--save")
    assert (status, err.count("\n"), "--record" in err) == (EXIT_USAGE, 1, True)
    (entry,) = (m for m in record["metrics"] if (m["metric"], m["split"]) == ("cross_entropy", "test"))
    entry["value"] *= 1 + 1e-4
    write_record(path, {**record, "result_sha256": compute_result_digest(record)})
    assert run(capsys, "evaluate", NAME, "--save")[0] == EXIT_FAILED
    assert not saved.exists()
