"""Measure a trained model again, by the readable model and without training."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from reprise.catalogue.protocols import PROTOCOLS
from reprise.cli.common import find_experiment, format_number, index_numbers, make_console, make_table
from reprise.config.project import Project
from reprise.data.corpus import Corpus
from reprise.data.own_text import OWN_TEST_SPLITS, replace_test_text
from reprise.errors import Failed, UserError
from reprise.files import compute_sha256, entry_exists, require_place, write_json
from reprise.records.content import require_owner
from reprise.records.evaluation import BAND_STARTS, SINGLE_BANDS, make_evaluation
from reprise.records.model import RunRecord
from reprise.records.record import ANOTHER, Outcome, read_record
from reprise.records.resolved import Resolved

if TYPE_CHECKING:
    from reprise.evaluation.by_count import LossesByCount

RELATIVE_TOLERANCE = 1e-5
"""What float32 sums in another order differ by, relatively; of a share, one item besides."""


@dataclass(frozen=True)
class TrainedReplica:
    """Hold a replica's training with kept weights in it, the epoch or step that they are of, and their SHA-256."""

    training: Any
    reported_position: dict[str, int]
    digest: str


@dataclass(frozen=True)
class Measurement:
    """Hold what the readable model measured: an outcome, losses by counts of words, and facts of the measurement."""

    outcome: Outcome
    losses: list[dict[str, Any]]
    run: dict[str, Any]

    @property
    def values(self) -> dict[tuple[str, str], float]:
        """Return every number by metric and split, also those that follow from others."""
        return {key: value for key, (value, _) in index_numbers(make_record_content(self.outcome)).items()}


def evaluate_command(options: argparse.Namespace) -> None:
    """Measure kept weights on the validation and test text with the readable model, beside what their record says.

    The exit status is 1 where a number differs from the record's by more than rounding in float32 explains.

    With --text a text of your own takes the place of the test text. A word that the vocabulary lacks is read as <unk>,
    if the vocabulary has that. With --by-count the losses of single words are averaged by their counts in training, on
    the CPU. With either option nothing is compared. With --save the command writes an evaluation record. Claims about
    frequent and rare words are judged from these.
    """
    project, experiment = find_experiment(options.tier, options.experiment)
    if options.record and (option := "--text" if options.text else "--by-count" if options.by_count else ""):
        raise UserError(f"--record: nothing is compared with {option}; omit one of the two")
    require_trained(project, experiment, options.replica, options.weights)
    if options.save:
        _refuse_to_save(options, project.root / experiment.get_evaluation_path(options.replica))
    from reprise.training.torch_state import use_torch_settings

    with TemporaryDirectory() as folder, use_torch_settings(options.threads):
        corpus = find_corpus(project, experiment, options.corpus)
        if options.text:
            corpus = write_own_test_corpus(corpus, options.text, Path(folder) / "own.npz", make_console().print)
        trained = load_trained(project, experiment, options.replica, options.weights, corpus)
        if options.by_count:
            _show_losses_by_count(trained.training, corpus, options.by_count)
        elif options.text:
            measured = _measure(trained.training, corpus, options.device, by_count=False)
            _print_heading(experiment, options.replica, trained)
            _show_values({key: value for key, value in measured.values.items() if key[1] in OWN_TEST_SPLITS})
        else:
            _measure_beside_record(project, experiment, trained, corpus, options)


def _measure_beside_record(
    project: Project, experiment: Resolved, trained: TrainedReplica, corpus: Path | None, options: argparse.Namespace
) -> None:
    """Measure a replica and compare the numbers with its record's; save the measurement if asked to."""
    weights = find_weights(project, experiment, options.replica, options.weights)
    path = options.record or find_record(project, experiment, options.replica, weights)
    # Read before the measurement, which may take minutes.
    record = _read_record(path, experiment, options)
    if options.save and record and record["run"].get("weights_sha256") not in (None, trained.digest):
        raise UserError(f"--save: {path} names other weights; name the record of these with --record FILE")
    measured = _measure(trained.training, corpus, options.device, by_count=options.save)
    _print_heading(experiment, options.replica, trained)
    if record is None:
        _show_values(measured.values)
    else:
        _compare(record, measured, trained.digest)
    if options.save:
        saved = project.root / experiment.get_evaluation_path(options.replica)
        description = _describe_weights(weights, trained)
        write_json(saved, _make_evaluation(experiment, options.replica, description, corpus, record, measured))
        make_console().print(f"saved: {saved}", soft_wrap=True)
    elif record is None:
        raise Failed(f"{path}: no such record; nothing to compare with")


def _read_record(path: Path, experiment: Resolved, options: argparse.Namespace) -> RunRecord | None:
    """Read the record that the numbers are compared with; None without one, if --record names none."""
    if not options.record:
        return read_record(path, experiment, options.replica) if entry_exists(path) else None
    record = read_record(path, remedy=f"{ANOTHER} with --record")
    require_owner(record, f"--record {path}", experiment, options.replica, "name the record of these weights")
    return record


def _print_heading(experiment: Resolved, replica: int, trained: TrainedReplica) -> None:
    """Print what is measured: the replica, and the weights by their epoch or step and their checksum."""
    epoch = ", ".join(f"{unit} {count}" for unit, count in trained.reported_position.items())
    sha256 = f"SHA-256 {trained.digest[:12]}…"
    make_console().print(f"{experiment.id}, replica {replica}, weights of {epoch} ({sha256}), readable model")


def _make_evaluation(
    experiment: Resolved,
    replica: int,
    weights: Mapping[str, Any],
    corpus: Path | None,
    record: RunRecord | None,
    measured: Measurement,
) -> dict[str, Any]:
    """Make the evaluation record of a measurement, with the checksum of the corpus that was read."""
    return make_evaluation(
        experiment,
        replica,
        weights=weights,
        corpus_sha256=compute_sha256(corpus) if corpus else None,
        record=record,
        measured=measured.outcome.metrics,
        losses=measured.losses,
        run=measured.run,
    )


def _refuse_to_save(options: argparse.Namespace, path: Path) -> None:
    """Refuse what no evaluation record holds, and a place where none can be written, before a long measurement."""
    for option in ("text", "by_count"):
        if getattr(options, option):
            name = f"--{option.replace('_', '-')}"
            raise UserError(f"--save: an evaluation record holds no numbers of {name}; omit {name}")
    require_place(path, f"--save: {path}")


def _measure(training: Any, corpus: Path | None, device: str, by_count: bool) -> Measurement:
    """Read every text once, on a device; `by_count`: with the losses of test texts by counts of words."""
    if device == "cuda":
        training.move_to_gpu()
    sums_by_split: dict[str, LossesByCount] = {}
    if by_count and (splits := PROTOCOLS[training.protocol].losses_by_count):
        sums_by_split = _make_sums(corpus, splits)
        training.loss_receivers = {split: sums.add_batch for split, sums in sums_by_split.items()}
    start = time.perf_counter()
    with make_console().status("measuring") as status:
        outcome = training.measure(status.update)
    run = _describe_run(training, device, time.perf_counter() - start)
    losses = [
        {"split": split, "side": side, "least": least, "n": n, "value": loss}
        for split, sums in sums_by_split.items()
        for (side, least), (n, loss) in sums.compute_means().items()
    ]
    return Measurement(outcome, losses, run)


def _show_values(values: Mapping[tuple[str, str], float]) -> None:
    rows = [(*key, format_number(value)) for key, value in values.items()]
    make_console().print(make_table(("metric", "split", "measured"), rows))


def _describe_weights(path: Path, trained: TrainedReplica) -> dict[str, Any]:
    """Return what an evaluation record says of the weights."""
    mib = round(path.stat().st_size / 2**20, 3)
    return {"sha256": trained.digest, "mib": mib, "at": trained.reported_position}


def _compare(record: RunRecord, measured: Measurement, digest: str) -> None:
    """Show the numbers beside the record's.

    Raises:
        Failed: A number differs beyond rounding.
    """
    out, rows = make_console(), list(compare_numbers(record, measured))
    out.print(make_table(("metric", "split", "record", "measured", "difference", ""), rows))
    if recorded_digest := record["run"].get("weights_sha256"):
        out.print(f"weights: {'those' if recorded_digest == digest else 'not those'} that the record names")
    differing = [row for row in rows if row[-1]]
    if differing:
        experiment = f"{record['paper']}/{record['experiment']}"
        raise Failed(f"{experiment}: {len(differing)} of {len(rows)} numbers differ from the record beyond rounding")
    if not rows:
        raise Failed(f"{record['paper']}/{record['experiment']}: record and measurement have no metric in common")
    out.print(f"{len(rows)} numbers, none differs beyond rounding in float32")


def _describe_run(training: Any, device: str, seconds: float) -> dict[str, Any]:
    """Describe a measurement as a run record describes a training: engine, device, seconds, code."""
    import torch

    from reprise.training.provenance import collect_code_facts
    from reprise.training.run_facts import collect_run_facts

    facts = collect_run_facts("reference", torch.device(device), seconds, 0) | collect_code_facts(
        getattr(training, "engine", None)
    )
    return {key: value for key, value in facts.items() if key != "resumed"}


def _make_sums(corpus: Path | None, splits: Iterable[str]) -> dict[str, LossesByCount]:
    """Make empty sums of each split's losses, by how often a word stands in the training text of a corpus."""
    import numpy as np

    from reprise.evaluation.by_count import LossesByCount

    loaded = Corpus.load(corpus)
    if "train" not in loaded.splits:
        raise UserError(f"--by-count: the corpus {loaded.name} has no training part to count words in; omit it")
    counts = np.bincount(loaded.splits["train"].tokens, minlength=len(loaded.vocabulary))
    return {split: LossesByCount(counts) for split in splits}


def _show_losses_by_count(training: Any, corpus: Path | None, split: str) -> None:
    """Show the losses of a split's words by their counts in training.

    Raises:
        UserError: The model reads no text, predicts no words one by one, or the text has no such split.
    """
    if corpus is None:
        raise UserError(f"--by-count {split}: this model reads no text; omit --by-count")
    sums = _make_sums(corpus, [split])[split]
    training.read_words(split, sums.add_batch)
    bands = dict(zip(BAND_STARTS, SINGLE_BANDS, strict=True))
    rows = [
        (side, bands[least], str(n), format_number(loss)) for (side, least), (n, loss) in sums.compute_means().items()
    ]
    make_console().print(make_table(("word", "count in training", "words", "nats per word"), rows))


def make_record_content(outcome: Outcome) -> dict[str, Any]:
    """Return what is measured, by the names of a record's keys."""
    return {**vars(outcome), "status": "finished"}


def compare_numbers(record: RunRecord, measured: Measurement) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield a row a number that was measured: record, measured, difference, and "beyond rounding" if it is that."""
    items = {(m["metric"], m["split"]): m["n"] for m in measured.outcome.metrics if m["unit"] == "share"}
    values = measured.values
    for key, (value, _) in index_numbers(record).items():
        if key not in values:
            continue
        difference = values[key] - value
        tolerance = (
            RELATIVE_TOLERANCE * abs(value) + 1 / items[key]
            if items.get(key)
            else RELATIVE_TOLERANCE * max(abs(value), RELATIVE_TOLERANCE)
        )
        is_within = abs(difference) <= tolerance or math.isclose(values[key], value, rel_tol=RELATIVE_TOLERANCE)
        yield (
            *key,
            format_number(value),
            format_number(values[key]),
            f"{difference:+.2g}",
            "" if is_within else "beyond rounding",
        )


def load_trained(
    project: Project, experiment: Resolved, replica: int, weights: Path | None, corpus: Path | None
) -> TrainedReplica:
    """Make the training of a replica, with the readable model and kept weights in it.

    Args:
        project: The clone.
        experiment: The experiment.
        replica: The number of the replica.
        weights: The file; by default where training leaves it.
        corpus: The prepared corpus, if the experiment reads one.
    """
    from reprise.training.protocol import build_training
    from reprise.training.weights import load_weights

    training = build_training(experiment, replica, corpus, "reference")
    path = find_weights(project, experiment, replica, weights)
    reported_position, digest = load_weights(path, experiment, replica, training.model, training.vocabulary_sha256)
    training.load_parameters(training.model.state_dict())
    training.model.eval()
    return TrainedReplica(training, reported_position, digest)


def find_weights(project: Project, experiment: Resolved, replica: int, stated: Path | None) -> Path:
    """Return the file of a replica's weights: the stated one, or where training leaves it."""
    return stated or project.root / experiment.get_weights_path(replica)


def require_trained(project: Project, experiment: Resolved, replica: int, weights: Path | None) -> None:
    """Raise `UserError` where a replica has no weights: before a corpus is prepared, which may take minutes."""
    if experiment.is_check:
        raise UserError(f"{experiment.id}: is a check, and trains no model")
    from reprise.training.protocol import Learner, find_training_class
    from reprise.training.weights import require_weights

    if not issubclass(find_training_class(experiment), Learner):
        protocol = experiment.config["training"]["protocol"]
        raise UserError(f"{experiment.id}: the protocol {protocol} learns nothing, and keeps no weights")
    require_weights(find_weights(project, experiment, replica, weights), experiment, replica)


def find_record(project: Project, experiment: Resolved, replica: int, weights: Path) -> Path:
    """Return the path of the record that was left with these weights; without one, that of the clone's replica."""
    path = experiment.find_record(replica, weights)
    return path if entry_exists(path) else project.root / experiment.get_record_path(replica)


def find_corpus(project: Project, experiment: Resolved, stated: Path | None) -> Path | None:
    """Find the prepared corpus of an experiment; without one, make it from its raw files."""
    if experiment.corpus is None:
        return None
    path = stated or project.root / experiment.corpus
    if stated is None and not path.is_file():
        from reprise.cli.steps import RAW
        from reprise.data import prepare_corpus

        data = experiment.config["data"]
        prepare_corpus(project.find_dataset(data["dataset"]), data["options"], project.root / RAW, path)
    if not path.is_file():
        raise UserError(f"{path}: no such corpus; name another with --corpus")
    return path


def write_own_test_corpus(corpus: Path | None, text: Path, path: Path, log: Any) -> Path:
    """Write to `path` a corpus whose test text is that of a file; `log` takes a line on how it was read."""
    if corpus is None:
        raise UserError(f"--text {text}: this model reads no text; omit --text")
    own_corpus, line = replace_test_text(Corpus.load(corpus), text)
    log(line)
    own_corpus.save(path)
    return path
