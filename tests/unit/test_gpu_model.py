"""What a GPU would take, by a model: counted by hand on small texts, and never called a measurement."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from loglinear_helpers import config as log_linear
from stacked_helpers import SENTENCES, WINDOWS, experiment
from stacked_palindromes_helpers import config as palindromes
from windows_helpers import config as windows

from reprise import cli
from reprise.data.corpus import Corpus, Split
from reprise.estimate.estimates import MODEL, estimates
from reprise.estimate.gpu_model import GPUS, KERNEL_SECONDS, SHARE, Gpu, Work, work_of

V = 50


def split(*lengths):
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    return Split(np.zeros(offsets[-1], np.int32), offsets)


def corpus(**splits):
    return Corpus("c", splits, [str(i) for i in range(V)], np.ones(V, np.int64))


TEXT = corpus(train=split(20, 41, 5), valid=split(7), test=split(3))


def test_a_stack_takes_its_kernels_once_and_the_slower_of_arithmetic_and_memory_for_each_replica():
    gpu = Gpu("g", flops=10.0 / SHARE, bandwidth=4.0)
    assert Work(1e6, 20.0, 4.0).seconds(gpu, 3) == pytest.approx(1e6 * KERNEL_SECONDS + 3 * 2.0)
    assert Work(1e6, 20.0, 40.0).seconds(gpu, 3) == pytest.approx(1e6 * KERNEL_SECONDS + 3 * 10.0)


def test_subsequences_are_counted_word_by_word():
    work = work_of(experiment("a", SENTENCES, "c.npz"), TEXT)
    words, subsequences, evaluated, H = 66, 1 + 3 + 1, 10, 8
    assert work.kernels == 4 * words + 12 * subsequences + 2 * evaluated
    assert work.flops == (6 * words + 2 * evaluated) * (H * V + H * H)
    assert work.traffic == 16 * (subsequences * H * V + words * H * H)


def test_windows_share_their_steps_among_the_streams_of_a_batch():
    work = work_of(experiment("a", WINDOWS, "c.npz"), TEXT)
    steps, windows, evaluated = 66 / 4, 66 / 40, 10
    assert work.kernels == pytest.approx(10 * steps + 20 * windows + 5 * evaluated)
    assert work.flops == (6 * 66 + 2 * evaluated) * (3 * (12 * 8 + 8 * 8) + 8 * V)


@pytest.mark.parametrize(
    ("model", "options", "weights"),
    [
        (
            "gso",
            {"hidden_size": 4, "second_order_size": 3, "input_term": True, "recurrent_term": False},
            2 * 12 + 3 * V + 4 * V + 4 + 4 * V + V,
        ),
        ("first-order-rnn", {"hidden_size": 4}, 4 * V + 16 + 4 + 4 * V + V),
    ],
)
def test_lines_take_as_many_steps_as_the_longest_of_their_batch(model, options, weights):
    config = {
        "model": {"name": model, "options": options},
        "training": {"protocol": "line-epochs", "options": {"batch_size": 64}},
    }
    lengths = [5] * 64 + [9]
    work = work_of(experiment("a", config, "c.npz"), corpus(lines=split(*lengths)))
    # The long line is in one of the two batches; which, chance decides.
    assert work.kernels == pytest.approx((12 * 0.72 + 4 * 0.28) * (9 + 5) + 40 * 0.72 * 2)
    assert work.flops == pytest.approx((6 * 0.72 + 2 * 0.28) * sum(lengths) * weights)


def test_palindromes_and_books_are_counted_by_steps(tmp_path):
    lstm, elman = (work_of(experiment("a", palindromes(name), None), None) for name in ("lstm", "elman"))
    # Eight units, six palindromes of eight digits, of which seven are read.
    assert lstm.flops == 6 * 7 * 6 * (4 * 8 * (8 + 10) + 8 * 10)
    assert elman.flops == 6 * 7 * 6 * (8 * (8 + 10) + 8 * 10)
    assert lstm.kernels - elman.kernels == 7 * 8
    book = work_of(experiment("a", windows(), "c.npz"), TEXT)
    assert book.flops == 6 * 10 * 4 * (4 * 8 * (8 + V) + 4 * 8 * (8 + 8) + 8 * V)
    TEXT.save(tmp_path / "c.npz")
    several = [experiment("p", palindromes(), None, replicas=3), experiment("b", windows(), "c.npz", replicas=3)]
    for one, found, steps in zip(several, estimates(several, tmp_path, gpu=GPUS["h200"]), (21, 41), strict=True):
        assert found.source == MODEL
        work = work_of(one, TEXT if one.corpus else None)
        assert found.total == pytest.approx(steps * work.seconds(GPUS["h200"], 3))


def test_windows_by_themselves_are_read_word_by_word_for_one_target():
    for kind, rows in (("ll-rnn", 15 + 1), ("rnn", V)):
        work = work_of(experiment("a", log_linear(kind), "c.npz"), TEXT)
        lstm = 4 * 16 * (16 + 16) + 8 * 16 * 16
        assert work.flops == (6 * 66 + 2 * 10) * (8 * lstm + 16 * rows)
        assert work.kernels == pytest.approx((13 * 8 * 2 + 70) * 66 / 32)
        assert work.traffic == pytest.approx(4 * (15 * 66 / 32 * (2 * 16 * rows + lstm) + 20 * 66 * 8 * 2 * 16))
    streams = work_of(experiment("a", log_linear("rnn", scheme="streams"), "c.npz"), TEXT)
    assert streams.flops == (6 * 66 + 2 * 10) * (lstm + 16 * V)
    assert 8 * streams.kernels == pytest.approx(work.kernels)


def test_estimates_with_a_gpu_say_that_they_are_a_model(tmp_path):
    TEXT.save(tmp_path / "c.npz")
    one = experiment("a", SENTENCES, "c.npz", replicas=3)
    (found,) = estimates([one], tmp_path, gpu=GPUS["h200"])
    assert found.source == MODEL
    assert found.total == pytest.approx(2 * work_of(one, TEXT).seconds(GPUS["h200"], 3))  # two epochs at most
    (alone,) = estimates([experiment("a", SENTENCES, "c.npz", replicas=1)], tmp_path, gpu=GPUS["h200"])
    assert alone.seconds < found.total < 3 * alone.seconds
    (unknown,) = estimates([experiment("a", SENTENCES, "none.npz")], tmp_path, gpu=GPUS["h200"])
    assert unknown.seconds is None
    assert unknown.source.startswith("not prepared")


def test_the_command_names_the_gpu_and_refuses_one_that_it_does_not_know(capsys, tmp_path, monkeypatch):
    (tmp_path / "config").symlink_to(Path("config").resolve())
    monkeypatch.chdir(tmp_path)  # where nothing has been trained
    assert cli.main(["estimate", "--tier", "quick", "--no-calibration", "--gpu", "h200"]) == 0
    assert "not measured" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["estimate", "--gpu", "gtx"])
    assert "h200" in capsys.readouterr().err
