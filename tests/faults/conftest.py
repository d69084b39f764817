"""Two trainings of some seconds, undisturbed results of both, and one that was killed half-way."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from progress import Halt
from project import COMPILED
from replica import Replica, end

from reprise.catalogue.spec import DatasetSpec
from reprise.data import prepare_corpus
from reprise.engines.rntn.subsequences import cut
from reprise.records.resolved import Resolved
from reprise.training.protocols.rntn import SubsequenceSGD

DIGITS = {
    "model": {"name": "elman", "options": {"hidden_size": 8, "weight_law": "fan-in-truncated-normal"}},
    "data": {"dataset": "palindromes", "options": {"length": 5}, "raw": {}},
    "training": {
        "protocol": "final-digit",
        "options": {
            "steps": 1800,
            "batch_size": 16,
            "optimiser": "adam",
            "learning_rate": 0.01,
            "clip_norm": 10.0,
            "log_every": 25,
        },
    },
    "precision": "float32",
}
# Two pieces of work an epoch, 1,500 subsequences and the rest, so that it is also killed inside an epoch. With this
# seed the second piece begins inside a sentence, so that the state carried there matters.
TEXT = {"vocabulary_size": 1000, "training_sentences": 2300, "seed": 4}
PIECE = SubsequenceSGD.at_once
WORDS = {
    "model": {
        "name": "r-rntn",
        "options": {
            "hidden_size": 96,
            "matrices": 2,
            "mapping": "f",
            "bias": "matrix",
            "h_0": 0.0,
            "weight_std": 0.1,
            "bias_law": "normal",
        },
    },
    "data": {"dataset": "synthetic", "options": TEXT, "raw": {}},
    "training": {
        "protocol": "subsequence-sgd",
        "options": {
            "subsequence_length": 20,
            "loss_reduction": "sum",
            "learning_rate": 0.1,
            "dropout": 0.5,
            "schedule": "halve-below-ratio",
            "halving_ratio": 1.003,
            "patience": 20,
            "max_epochs": 16,
        },
    },
    "precision": "float32",
}


@pytest.fixture(autouse=True)
def no_survivors() -> Iterator[None]:
    """Processes of a test that failed half-way end with it."""
    yield
    for process in multiprocessing.active_children():
        process.kill()
        process.join()


def resolved(name: str, config: dict[str, Any]) -> Resolved:
    paper, experiment = name.split("/")
    return Resolved(paper, experiment, "quick", title=name, replicas=1, config=config, origins={}, corpus=None)


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Saves as often as possible; engines are compiled once, processes left behind end soon."""
    folder = tmp_path_factory.mktemp("t")
    return {
        "TMPDIR": str(folder),
        "REPRISE_BUILD": str(COMPILED),
        "REPRISE_SAVE_SECONDS": "0",
        "REPRISE_WARM_IDLE": "5",
    }


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    spec = DatasetSpec("synthetic", "", "", "", "synthetic")
    text = prepare_corpus(spec, TEXT, folder / "raw", folder / "text.npz")
    cuts = cut(text.splits["train"], text.vocabulary.index("</s>"), 20)
    assert PIECE < len(cuts) < 2 * PIECE
    assert not cuts.reset[PIECE]
    return folder / "text.npz"


@pytest.fixture
def digits(tmp_path: Path, variables: dict[str, str]) -> Replica:
    """A palindrome experiment of 1,800 steps."""
    return Replica(tmp_path / "digits", resolved("digits/rnn-t5", DIGITS), variables)


@pytest.fixture
def words(tmp_path: Path, variables: dict[str, str], corpus: Path) -> Replica:
    """A language model of sixteen epochs, each of two pieces of work."""
    return Replica(tmp_path / "words", resolved("words/r-rntn-96", WORDS), variables, corpus)


def undisturbed(replica: Replica) -> bytes:
    """The result of `python -m reprise train`."""
    done = end(replica.command())
    assert done.status == 0, done.err
    return replica.result()


@pytest.fixture(scope="session")
def digits_result(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> bytes:
    """What `digits` comes to when nothing happens on the way: its record without the key `run`."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return undisturbed(Replica(folder, resolved("digits/rnn-t5", DIGITS), variables))


@pytest.fixture(scope="session")
def words_result(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str], corpus: Path) -> bytes:
    folder = tmp_path_factory.mktemp("undisturbed")
    return undisturbed(Replica(folder, resolved("words/r-rntn-96", WORDS), variables, corpus))


@pytest.fixture(scope="session")
def killed_digits(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> Replica:
    """`digits`, killed with two checkpoints on the disk. Not to be changed: `half_way` is a copy."""
    replica = Replica(tmp_path_factory.mktemp("killed"), resolved("digits/rnn-t5", DIGITS), variables)
    replica.start(halt=Halt(300)).wait_for_halt().send(signal.SIGKILL)
    assert replica.checkpoint.exists()
    assert replica.previous.exists()
    return replica


@pytest.fixture
def half_way(killed_digits: Replica, tmp_path: Path) -> Replica:
    return killed_digits.copy(tmp_path / "half-way")
