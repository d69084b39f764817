"""Kept weights: those of the reported epoch, to the bit, and a second measurement by the readable model."""

import hashlib
import json
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import torch
from compiler_helpers import needs_compiler
from experiment_helpers import jobs_of
from safetensors.torch import save_file
from test_protocols import LEARN, changes_of, make  # noqa: F401

from reprise.cli.evaluate import Measurement, compare_numbers
from reprise.data.pairs.pairs import get_source, get_test_lines
from reprise.errors import Interrupted, UserError
from reprise.evaluation.sampling import translate_by_beam
from reprise.records.record import load_record
from reprise.records.resolved import Resolved
from reprise.training.jobs import run_jobs
from reprise.training.protocol import build_training
from reprise.training.weights import load_weights

TRAINED_ALONE = "final-digit", "final-digit, lstm"
"""Whose records hold numbers of the training alone."""


def get_weights_path(resolved, folder, replica=0):
    return folder / resolved.get_weights_path(replica)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load_trained(resolved, path):
    training = build_training(resolved, 0, Path(resolved.corpus) if resolved.corpus else None, "reference")
    load_weights(path, resolved, 0, training.model, training.vocabulary_sha256)
    training.load_parameters(training.model.state_dict())
    return training


def differences(record, training, measured=None):
    measured = measured or training.measure(lambda _: None)
    return list(compare_numbers(record, Measurement(measured, [], {})))


def largest_relative_difference(record, measured):
    """Of the losses that a record holds."""
    remeasured = {(m["metric"], m["split"]): m["value"] for m in measured.metrics}
    stored = {(m["metric"], m["split"]): m["value"] for m in record["metrics"] if "/" in m["unit"]}
    return max(
        (abs(remeasured[key] / value - 1) for key, value in stored.items() if value and key in remeasured), default=0.0
    )


def experiment(small, case, keep="all"):
    return replace(small.resolved(case.partition(",")[0], **changes_of(case)), weights=keep, replicas=1)


@pytest.mark.parametrize("case", [pytest.param(case, marks=needs_compiler) for case in LEARN])
def test_weights_of_the_reported_epoch_are_measured_again_by_the_readable_model(small, make, case, tmp_path):  # noqa: F811
    """And a training that was stopped leaves the same file."""
    make(case)  # shortens the calls
    resolved = experiment(small, case)
    (record,) = run_jobs(jobs_of([resolved], tmp_path))
    path = get_weights_path(resolved, tmp_path)
    assert record["run"]["weights_sha256"] == digest(path)
    training = load_trained(resolved, path)
    if case in TRAINED_ALONE:
        with pytest.raises(UserError, match="none to measure"):
            training.measure(print)
    else:
        measured = training.measure(lambda _: None)
        rows = differences(record, training, measured)
        assert rows
        assert [row for row in rows if row[-1]] == []
        assert largest_relative_difference(record, measured) <= 1e-6
        # The test can fail: other weights give other numbers.
        other = load_trained(resolved, path)
        other.load_parameters({name: 1.5 * value + 0.01 for name, value in other.copy_parameters().items()})
        assert [row for row in differences(record, other) if row[-1]]
    calls = count(1)
    stopped = jobs_of([resolved], tmp_path / "stopped")
    with pytest.raises(Interrupted):
        run_jobs([replace(job, watch=lambda: "the test" if next(calls) == 3 else "") for job in stopped])
    run_jobs(stopped)
    assert digest(get_weights_path(resolved, tmp_path / "stopped")) == digest(path)


@pytest.mark.parametrize("case", ["final-digit", "batched-sgd", "tagging"])
def test_members_of_a_stack_leave_the_weights_of_a_replica_alone(small, case, tmp_path):
    resolved = replace(experiment(small, case), replicas=2)
    run_jobs(jobs_of([resolved], tmp_path / "two", "stacked"))
    for job in jobs_of([resolved], tmp_path / "one", "stacked"):
        run_jobs([job])
    for replica in range(2):
        two, one = (get_weights_path(resolved, tmp_path / name, replica) for name in ("two", "one"))
        assert digest(two) == digest(one)


@pytest.mark.parametrize(("keep", "replicas"), [("all", [0, 1]), ("first", [0]), ("none", []), (None, [])])
def test_weights_are_kept_of_the_replicas_that_the_setting_names(small, keep, replicas, tmp_path):
    resolved = replace(experiment(small, "recall", keep), replicas=2)
    run_jobs(jobs_of([resolved], tmp_path))
    assert [replica for replica in range(2) if get_weights_path(resolved, tmp_path, replica).is_file()] == replicas
    records = [load_record(tmp_path / path) for path in resolved.list_record_paths()]
    assert [replica for replica in range(2) if "weights_sha256" in records[replica]["run"]] == replicas
    full = Resolved("p", "e", "paper", "t", 2, {}, {}, None)
    assert [full.keeps_weights(replica) for replica in range(2)] == [True, False]


def test_weights_beside_a_record_elsewhere_are_replaced_by_those_of_the_same_replica_alone(small, tmp_path):
    (job,) = jobs_of([experiment(small, "recall")], tmp_path)
    job, weights = replace(job, output=tmp_path / "again.json"), tmp_path / "again.safetensors"
    weights.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=r"again\.safetensors: is there already"):
        run_jobs([job])
    assert weights.read_text(encoding="utf-8") == "mine"
    run_jobs([replace(job, resolved=replace(job.resolved, weights="none"))])
    job.output.unlink()
    weights.unlink()
    with pytest.raises(Interrupted):
        run_jobs([replace(job, watch=lambda: "a test")])
    weights.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=r"again\.safetensors: is there already"):
        run_jobs([job])
    weights.unlink()
    (record,) = run_jobs([job])
    job.output.unlink()  # as if the training had been killed before it wrote its record
    run_jobs([job])
    assert record["run"]["weights_sha256"] == digest(weights)


def test_a_record_says_what_code_made_it(small, tmp_path):
    (record,) = run_jobs(jobs_of([experiment(small, "tagging")], tmp_path))
    run = record["run"]
    assert {"models", "training", "data"} < {*run["code"]["packages"]}
    assert len(run["code"]["sha256"]) == 64
    assert (run["commit"] is None) == (run["dirty"] is None)


def test_the_checksum_is_of_the_bytes_that_are_loaded(small, tmp_path, monkeypatch):
    """Another process may put another file in the place of one that is being read."""
    resolved = experiment(small, "tagging")
    run_jobs(jobs_of([resolved], tmp_path))
    path = get_weights_path(resolved, tmp_path)
    checksum, parameters = digest(path), load_trained(resolved, path).copy_parameters()

    def read_and_remove(path):
        content = path.read_bytes()
        path.unlink()
        return content

    monkeypatch.setattr("reprise.training.weights.read_whole", read_and_remove)
    training = build_training(resolved, 0, Path(resolved.corpus), "reference")
    _, stated = load_weights(path, resolved, 0, training.model, training.vocabulary_sha256)
    assert stated == checksum
    assert all(torch.equal(value, parameters[name]) for name, value in training.model.state_dict().items())


def renamed(path, other):
    path.write_bytes(other.read_bytes())


HOSTILE = {
    "cut": lambda path, _: path.write_bytes(path.read_bytes()[:-7]),
    "cut in the head": lambda path, _: path.write_bytes(path.read_bytes()[:40]),
    "empty": lambda path, _: path.write_bytes(b""),
    "text": lambda path, _: path.write_text("weights"),
    "long head": lambda path, _: path.write_bytes((2**62).to_bytes(8, "little") + b"{}"),
    "pickle": lambda path, _: torch.save({"a": torch.zeros(2)}, path),
    "folder": lambda path, _: (path.unlink(), path.mkdir()),
    "foreign": lambda path, _: save_file({"a": torch.zeros(2)}, path),
    "foreign with metadata": lambda path, _: save_file({"a": torch.zeros(2)}, path, {"reprise": '{"format": []}'}),
    "no epoch": lambda path, own: save_file(
        own, path, {"reprise": json.dumps(json.loads(metadata_of(path)["reprise"]) | {"at": 3})}
    ),
    "no count": lambda path, own: save_file(
        own, path, {"reprise": json.dumps(json.loads(metadata_of(path)["reprise"]) | {"at": {"epoch": float("inf")}})}
    ),
    "deep": lambda path, own: save_file(own, path, {"reprise": "[" * 100_000}),
    "renamed": renamed,
    "not finite": lambda path, own: save_file(
        {name: torch.full_like(value, torch.nan) for name, value in own.items()}, path, metadata_of(path)
    ),
    "other type": lambda path, own: save_file({n: v.half() for n, v in own.items()}, path, metadata_of(path)),
    "other shape": lambda path, own: save_file({n: v[:1].clone() for n, v in own.items()}, path, metadata_of(path)),
    "nothing in it": lambda path, own: save_file({}, path, metadata_of(path)),
}


def metadata_of(path):
    head = json.loads(path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")])
    return head["__metadata__"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_is_not_the_replicas_weights_is_one_line(small, kind, tmp_path):
    resolved = experiment(small, "tagging")
    run_jobs(jobs_of([resolved], tmp_path))
    path, other = get_weights_path(resolved, tmp_path), experiment(small, "recall")
    training = build_training(resolved, 0, Path(resolved.corpus), "reference")
    load_weights(path, resolved, 0, training.model, training.vocabulary_sha256)
    if kind == "renamed":
        run_jobs(jobs_of([other], tmp_path))
        HOSTILE[kind](path, get_weights_path(other, tmp_path))
    else:
        HOSTILE[kind](path, training.copy_parameters())
    before = training.copy_parameters()
    with pytest.raises(UserError) as caught:
        load_weights(path, resolved, 0, training.model, training.vocabulary_sha256)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert all(value.equal(before[name]) for name, value in training.copy_parameters().items())


WRITERS = ("subsequence-sgd", "batched-sgd, lstm", "line-epochs", "windows", "window-sgd", "character-windows")


@pytest.mark.parametrize("case", WRITERS)
def test_a_model_of_a_text_writes_by_the_probabilities_that_it_is_measured_by(small, case):
    training = build_training(*job_of(experiment(small, case)), "reference")
    symbols = torch.arange(12) % 5
    with torch.no_grad():
        log_p = [training.compute_next_log_p(symbols[:n]) for n in range(1, 13)]
    for each in log_p:
        assert each.exp().sum().item() == pytest.approx(1.0, abs=1e-5)
    # What is read last decides with what stood before it, not alone.
    with torch.no_grad():
        other = training.compute_next_log_p(torch.cat([symbols[:10] * 0, symbols[10:]]))
    assert not other.equal(log_p[-1])


def job_of(resolved):
    return resolved, 0, Path(resolved.corpus)


def test_a_model_of_translation_translates_greedily_and_with_a_beam(small):
    training = build_training(*job_of(experiment(small, "translation")), "reference")
    source = " ".join(get_test_lines(training.corpus)[0][0].split()[:3])
    vocabulary, numbers = training.corpus.vocabulary, get_source(training.corpus).vocabulary
    read = torch.tensor([[numbers.index(word)] for word in source.split()])
    banned = [vocabulary.index("<unk>")]
    model = training.get_readable_model()
    for max_length in (1, 5):
        of_beam_1, of_beam_4 = (translate_by_beam(model, read, training.end, max_length, n, banned) for n in (1, 4))
        assert training.translate(source, max_length, 1).split() == [vocabulary[word] for word in of_beam_1]
        assert training.translate(source, max_length, 4).split() == [vocabulary[word] for word in of_beam_4]
        # Words are cut as the corpus cuts them.
        assert training.translate(f"{source}, {source}", max_length, 1) == training.translate(
            f"{source} , {source}", max_length, 1
        )
    with pytest.raises(UserError, match="--source"):
        training.translate("  ", 5, 1)


def test_a_run_of_the_tier_quick_leaves_models_to_evaluate_and_to_sample(small):
    """What README tries after `make run`."""
    names = {one.id for one in small.quick if one.keeps_weights(0)}
    assert names == {"rrntn/s-rnn-100", "books/grimm", "lecture/translate-lstm"}
