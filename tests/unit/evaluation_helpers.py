"""Made-up evaluation records."""

from collections.abc import Mapping
from pathlib import Path

from reprise.files import write_json
from reprise.records.evaluation import make_evaluation
from reprise.records.record import Outcome, make_record
from reprise.records.resolved import Resolved

ONE = Resolved("p", "e", "reduced", "t", 3, {"x": 1}, {}, None)
RUN = {"engine": "reference", "device": "cpu (A)", "wall_seconds": 12.3, "threads": 1}
Band = tuple[str, str, int]
"""Split, side and least count."""


def evaluation(
    replica: int = 0,
    bands: Mapping[Band, tuple[int, float]] | None = None,
    relative: float = 0.0,
    recorded: bool = True,
    resolved: Resolved = ONE,
) -> dict:
    """The evaluation of a replica whose record says 1 + `relative` less; of each band the words and their mean loss."""
    metric = {"split": "test", "metric": "cross_entropy", "value": 4.0, "unit": "nats/token", "n": 10}
    of_record = Outcome([metric | {"value": 4.0 / (1 + relative)}])
    record = make_record(resolved, replica, of_record, 7, None, RUN | {"device": "cpu (B)"})
    losses = [
        {"split": split, "side": side, "least": least, "n": n, "value": loss}
        for (split, side, least), (n, loss) in (bands or {("test", "read", 10): (3, 2.0)}).items()
    ]
    return make_evaluation(
        resolved,
        replica,
        weights={"sha256": "a" * 64, "mib": 1.5, "at": {"epoch": 3}},
        corpus_sha256="b" * 64,
        record=record if recorded else None,
        measured=[metric],
        losses=losses,
        run=RUN,
    )


def place(root: Path, content: dict, tier: str = "reduced") -> Path:
    """Write an evaluation to where a tier has it."""
    name = f"{content['replica']}-{content['config_hash']}.json"
    path = root / f"results/{tier}/evaluations/{content['paper']}/{content['experiment']}/{name}"
    write_json(path, content)
    return path
