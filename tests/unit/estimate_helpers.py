"""Experiments that train nothing, and records of how long they took."""

from __future__ import annotations

from reprise.records.record import Outcome, make_record, write_record
from reprise.records.resolved import Resolved
from reprise.training.devices import processor


def experiment(name, replicas=2, corpus=None, most=60, **training):
    config = {"training": {"protocol": "subsequence-sgd", "options": {"max_epochs": most, **training}}, "name": name}
    return Resolved("p", name, "quick", "t", replicas, config, {}, corpus)


def leave(tmp_path, which, replica, seconds, epochs=None, device=None, diverged=None, peak=300.0, engine="fused"):
    metrics = [{"split": "train", "metric": "epochs", "value": epochs, "unit": "epoch", "n": 1}] if epochs else []
    run = {"engine": engine, "device": device or f"cpu ({processor()})", "wall_seconds": seconds}
    run["peak_memory_mib"] = peak
    record = make_record(which, replica, Outcome(metrics=metrics), 7, diverged, run)
    write_record(tmp_path / which.record_path(replica), record)


def never(which, root):
    raise AssertionError(f"{which.id} need not be measured")
