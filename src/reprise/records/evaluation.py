"""The evaluation record: the JSON that `reprise evaluate --save` leaves of one replica's weights.

It holds what the readable model measured beside what the training's record says. It also holds the losses of words by
how often they stand in the training text. Claims about frequent and rare words are judged from it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reprise.files import entry_exists
from reprise.records.content import compute_digest, decode_content, read_content, require_owner
from reprise.records.resolved import Resolved

SCHEMA = 1
RESULT_KEYS = ("schema", "paper", "experiment", "replica", "config_hash", "weights", "corpus_sha256")
RESULT_KEYS += ("record_sha256", "metrics", "losses_by_count")
"""Keys that `result_sha256` is the digest of; `trained` and `run` say how training and evaluation went."""
REMEDY = "`git checkout` it if it is committed, else remove it, and run `reprise evaluate … --save` again"

BAND_STARTS = (0, 1, 10, 100, 1000, 10_000)
"""Where the bands of counts begin; a count is how often a word stands in the training text."""
SIDES = ("read", "predicted")
"""Whose count decides: the last word that was read, or the word that was predicted."""
LOSS_BY_COUNT = "loss_by_count"


def name_band(first: int, last: int) -> str:
    """Name the counts of the bands with these numbers and of those between: "0", "1-9", "0-99", "10000-"."""
    low, high = BAND_STARTS[first], BAND_STARTS[last + 1] - 1 if last + 1 < len(BAND_STARTS) else None
    return str(low) if low == high else f"{low}-{'' if high is None else high}"


BANDS = {name_band(i, j): range(i, j + 1) for i in range(len(BAND_STARTS)) for j in range(i, len(BAND_STARTS))}
"""All ranges of neighbouring bands by their names, with the numbers of the bands."""
SINGLE_BANDS = tuple(name for name, numbers in BANDS.items() if len(numbers) == 1)


def name_loss_metric(side: str, band: str) -> str:
    """Name the mean loss of the words of a band: "loss_by_count/read/0-99"."""
    return f"{LOSS_BY_COUNT}/{side}/{band}"


def is_loss_by_count(metric: str | None) -> bool:
    """Tell whether evaluation records hold a metric, and run records do not."""
    return (metric or "").startswith(f"{LOSS_BY_COUNT}/")


def make_evaluation(
    resolved: Resolved,
    replica: int,
    *,
    weights: Mapping[str, Any],
    corpus_sha256: str | None,
    record: Mapping[str, Any] | None,
    measured: Iterable[Mapping[str, Any]],
    losses: Iterable[Mapping[str, Any]],
    run: Mapping[str, Any],
) -> dict[str, Any]:
    """Make the evaluation record of a replica.

    Args:
        resolved: The experiment.
        replica: The number of the replica.
        weights: Checksum, size and epoch of the weights, as `reprise.records.model.Weights` has them.
        corpus_sha256: The checksum of the prepared corpus; None of an experiment that reads none.
        record: The run record of the training that left the weights; None where it is not at hand.
        measured: The metrics, as `reprise.records.record.make_metric` makes them.
        losses: The losses by count, as `reprise.records.model.LossByCount` has them.
        run: How the evaluation went, as a run record says it.
    """
    recorded = {(m["metric"], m["split"]): m["value"] for m in record["metrics"]} if record else {}
    evaluation = {
        "schema": SCHEMA,
        "paper": resolved.paper,
        "experiment": resolved.experiment,
        "replica": replica,
        "config_hash": resolved.config_hash,
        "weights": dict(weights),
        "corpus_sha256": corpus_sha256,
        "record_sha256": record["result_sha256"] if record else None,
        "metrics": [
            _add_recorded_value(metric, recorded.get((metric["metric"], metric["split"]))) for metric in measured
        ],
        "losses_by_count": list(losses),
    }
    digest = compute_digest(evaluation, RESULT_KEYS)
    return {**evaluation, "result_sha256": digest, "trained": record["run"] if record else None, "run": dict(run)}


def _add_recorded_value(metric: Mapping[str, Any], recorded: float | None) -> dict[str, Any]:
    """Return a metric with what the record says of it."""
    share = (metric["value"] - recorded) / abs(recorded) if recorded else None
    return {**metric, "recorded": recorded, "relative_difference": 0.0 if metric["value"] == recorded else share}


def read_evaluation(path: Path, expected: Resolved | None = None, replica: int | None = None) -> dict[str, Any]:
    """Read the evaluation record in a file and check every value by the model.

    Args:
        path: The file.
        expected: The experiment whose evaluation it must be, with the configuration of today.
        replica: The replica whose evaluation it must be.

    Raises:
        UserError: There is no such file, or it is damaged, altered, of another shape, or of another replica.
        OSError: The file cannot be read, which is no damage.
    """
    from reprise.records.model import check_evaluation  # it needs pydantic, which training does without

    remedy = "run `reprise evaluate … --save`"
    content = read_content(path, "evaluation record", remedy, f"and {remedy} again")
    evaluation = decode_content(content, path, RESULT_KEYS, "evaluation record", REMEDY)
    # The digest is computed of any values, so that their kinds are checked before they are compared.
    check_evaluation(evaluation, path)
    require_owner(evaluation, path, expected, replica, REMEDY)
    return evaluation


def read_evaluations(experiment: Resolved, root: Path) -> list[dict[str, Any]]:
    """Read the evaluation records of all replicas that have one. Raises as `read_evaluation` does."""
    paths = [root / experiment.get_evaluation_path(replica) for replica in range(experiment.replicas)]
    return [read_evaluation(path, experiment, replica) for replica, path in enumerate(paths) if entry_exists(path)]
