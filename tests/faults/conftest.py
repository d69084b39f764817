"""Two trainings of some seconds, undisturbed results of both, and one that was killed half-way."""

import multiprocessing
import signal
from pathlib import Path
from typing import Any

import pytest
from experiment_helpers import DIGITS, SENTENCES, experiment
from replica import Halt, Replica, end

from reprise.data.synthetic import synthetic
from reprise.engines.rntn.subsequences import cut_subsequences
from reprise.training.protocols.rntn import SubsequenceSGD

# Two pieces of work an epoch, 1,500 subsequences and the rest, so that it is also killed inside an epoch. With this
# seed the second piece begins inside a sentence, so that the state carried there matters.
TEXT = {"vocabulary_size": 1000, "training_sentences": 2300, "seed": 4}
PIECE = SubsequenceSGD.piece_size
WORDS = {"hidden_size": 96, "matrices": 2, "weight_std": 0.1, "patience": 20, "max_epochs": 16}


@pytest.fixture(autouse=True)
def no_survivors():
    """Processes of a test that failed half-way end with it."""
    yield
    for process in multiprocessing.active_children():
        process.kill()
        process.join()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    text = synthetic.prepare(folder / "raw", TEXT)
    text.save(folder / "text.npz")
    cuts = cut_subsequences(text.splits["train"], text.vocabulary.index("</s>"), 20)
    assert PIECE < len(cuts) < 2 * PIECE
    assert not cuts.reset[PIECE]
    return folder / "text.npz"


@pytest.fixture(scope="session")
def replica(pipeline_variables, corpus):
    """Of a palindrome experiment of 1,800 steps, or a language model of sixteen epochs, each of two pieces of work.

    It saves as often as possible.
    """
    variables = {**pipeline_variables, "REPRISE_SAVE_SECONDS": "0"}

    def made(kind: str, folder: Path, **changes: Any) -> Replica:
        if kind == "digits":
            return Replica(folder, experiment("digits", DIGITS, None, **changes), variables)
        return Replica(folder, experiment("words", SENTENCES, None, **WORDS), variables, corpus)

    return made


@pytest.fixture
def digits(tmp_path, replica):
    return replica("digits", tmp_path / "digits")


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory, replica):
    """What `python -m reprise train` comes to when nothing happens on the way: records without the key `run`."""
    trained = {kind: replica(kind, tmp_path_factory.mktemp(kind)) for kind in ("digits", "words")}
    for one in trained.values():
        ended = end(one.command())
        assert ended.status == 0, ended.err
    return {kind: one.result() for kind, one in trained.items()}


@pytest.fixture
def digits_result(undisturbed):
    return undisturbed["digits"]


@pytest.fixture(scope="session")
def killed_digits(tmp_path_factory, replica):
    """`digits`, killed with two checkpoints on the disk. Not to be changed: `half_way` is a copy."""
    killed = replica("digits", tmp_path_factory.mktemp("killed"))
    killed.start(halt=Halt(300)).wait_for_halt().send(signal.SIGKILL)
    assert killed.checkpoint.exists()
    assert killed.previous.exists()
    return killed


@pytest.fixture
def half_way(killed_digits, tmp_path):
    return killed_digits.copy(tmp_path / "half-way")
