"""Signals to `run` while it trains replicas one by one: each of them stops it, whatever piece of work they come in."""

from __future__ import annotations

import os
import signal

import pytest

from reprise.errors import Interrupted
from reprise.records.resolved import Resolved
from reprise.training import timebox
from reprise.training.loop import Job
from reprise.training.protocols.palindromes import FinalDigit

CONFIG = {
    "model": {"name": "elman", "options": {"hidden_size": 4, "weight_law": "fan-in-truncated-normal"}},
    "data": {"dataset": "palindromes", "options": {"length": 5}, "raw": {}},
    "training": {
        "protocol": "final-digit",
        "options": {
            "steps": 60,
            "batch_size": 4,
            "optimiser": "adam",
            "learning_rate": 0.01,
            "clip_norm": 1.0,
            "log_every": 1,
        },
    },
    "precision": "float32",
}


def runner(folder, said):
    resolved = Resolved("palindromes", "e", "quick", "t", 2, CONFIG, {}, None)
    jobs = [Job(resolved, i, folder / f"{i}.json", root=folder, engine="reference") for i in range(2)]
    return timebox.Runner([[job] for job in jobs], timebox.TimeBox(None), said.append)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("piece", ["first", "second", "last"])
def test_a_signal_in_any_piece_of_work_stops_the_run(tmp_path, monkeypatch, piece, number):
    advance, pieces, before = FinalDigit.advance, [], signal.getsignal(number)

    def signalled(training):
        found = advance(training)
        pieces.append(training.finished)
        if piece == "last" and training.finished or len(pieces) == {"first": 1, "second": 2}.get(piece):
            os.kill(os.getpid(), number)
        return found

    monkeypatch.setattr(FinalDigit, "advance", signalled)
    said: list[str] = []
    with pytest.raises(Interrupted, match=f"stopped by {number.name}.*the same command goes on"):
        runner(tmp_path, said).run()
    finished = ["0.json"] if piece == "last" else []
    assert sorted(path.name for path in tmp_path.glob("*.json")) == finished
    assert signal.getsignal(number) == before  # SIGINT may be ignored: a shell starts what runs in its background so
    monkeypatch.setattr(FinalDigit, "advance", advance)
    runner(tmp_path, said).run()
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["0.json", "1.json"]
