"""A short calibration: the pace of a training that nobody has run to its end on this kind of processor."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.files import write_json
from reprise.records.resolved import Resolved
from reprise.training.devices import processor

CACHE = Path("build/estimates.json")
CALIBRATION_SECONDS = 2.0


def calibration(experiment: Resolved, root: Path) -> tuple[float, float]:
    """Trains for some seconds: seconds a unit (step or epoch) on one core, and the most units there can be.

    Seconds are the processor's, so that what else runs on the machine does not count. Torch is imported here, and not
    above, so that the graph can be built, and its outlook printed, without it.
    """
    import time

    import torch

    from reprise.training.protocol import build_training

    torch.set_num_threads(1)
    corpus = root / experiment.corpus if experiment.corpus else None
    training = build_training(experiment, 0, corpus, experiment.engine)
    began = time.process_time()
    training.advance()  # what is made on first use does not count
    start, before = time.process_time(), training.done
    if training.finished:
        return start - began, 1.0
    while not training.finished and (time.process_time() - start < CALIBRATION_SECONDS or training.done == before):
        training.advance()
    return (time.process_time() - start) / (training.done - before), float(training.total)


def read_cache(root: Path) -> dict[str, Any]:
    """Calibrations of this kind of processor by config hash; empty where there are none that can be read."""
    found = _caches(root).get(processor())
    return dict(found) if isinstance(found, dict) else {}


def write_cache(root: Path, calibrations: Mapping[str, Any]) -> None:
    write_json(root / CACHE, _caches(root) | {processor(): dict(calibrations)})


def _caches(root: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((root / CACHE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
