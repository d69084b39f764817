"""A trained model's parameters of the epoch that its record reports, as `.safetensors` beside the records.

The format holds tensors and texts and nothing that could run. Equal parameters give equal bytes: what the metadata
say stands under one key, since the format does not order several.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from reprise.errors import UserError
from reprise.files import dump_canonical_json, find_dead_link, read_whole, write_atomically
from reprise.records.resolved import Resolved

FORMAT = "reprise-weights-1"
_KEY = "reprise"


def save_weights(path: Path, parameters: Mapping[str, Tensor], metadata: Mapping[str, Any]) -> str:
    """Write parameters, whole or not at all.

    Args:
        path: The file.
        parameters: A state_dict of the readable model.
        metadata: What the file says of itself, see `describe_weights`.

    Returns:
        The file's SHA-256.
    """
    tensors = {name: value.detach().cpu().clone().contiguous() for name, value in parameters.items()}
    content = save(tensors, {_KEY: dump_canonical_json({"format": FORMAT, **metadata})})
    write_atomically(path, content)
    return hashlib.sha256(content).hexdigest()


def describe_weights(resolved: Resolved, replica: int, vocabulary: str | None, at: Mapping[str, int]) -> dict[str, Any]:
    """Say what weights are of: experiment, configuration, vocabulary (its SHA-256), and the epoch or step."""
    return {
        "experiment": resolved.id,
        "replica": replica,
        "config_hash": resolved.config_hash,
        "model": resolved.config["model"],
        "vocabulary_sha256": vocabulary,
        "at": dict(at),
    }


_DAMAGED = (SafetensorError, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What reading another file as weights raises."""


def require_weights(path: Path, resolved: Resolved, replica: int) -> None:
    """Raise `UserError` where the replica's weights are not."""
    if not path.is_file():
        why = "the link leads nowhere" if find_dead_link(path) else "no such file"
        raise UserError(f"{path}: {why}; {_suggest_training(resolved, replica)}")


def _suggest_training(resolved: Resolved, replica: int) -> str:
    # A replica that has its record trains again only into another file.
    command = f"python -m reprise train {resolved.id} --tier {resolved.tier} --replica {replica}"
    return f"run `{command} --output again.json --weights all` and name again.safetensors with --weights"


def load_weights(
    path: Path, resolved: Resolved, replica: int, model: nn.Module, vocabulary: str | None
) -> tuple[dict[str, int], str]:
    """Read weights into the readable model.

    Args:
        path: The file.
        resolved: The experiment whose weights they must be, with the configuration of today.
        replica: The replica whose weights they must be.
        model: The readable model, which takes the parameters.
        vocabulary: The SHA-256 of the vocabulary that the corpus has.

    Returns:
        The epoch or step that the weights are of, and the file's SHA-256.

    Raises:
        UserError: There is no such file, or it is damaged or of another model, configuration, replica or vocabulary.
        OSError: The file cannot be read, which is no damage.
    """
    require_weights(path, resolved, replica)
    remedy, content = _suggest_training(resolved, replica), read_whole(path)
    try:
        metadata, position, tensors = _parse_weights(content)
    except _DAMAGED:
        raise UserError(f"{path}: not a whole file of Reprise's weights; {remedy}") from None
    expected = {"format": FORMAT, "experiment": resolved.id, "config_hash": resolved.config_hash}
    for key, value in (expected | {"vocabulary_sha256": vocabulary}).items():
        if metadata[key] != value:
            what = "corpus that they were trained on" if key == "vocabulary_sha256" else "weights of this experiment"
            raise UserError(f"{path}: key {key}: {metadata[key]!r}, not {value!r}; name the {what}")
    if metadata["replica"] != replica:  # whose fold, or whose seed, would be another
        raise UserError(f"{path}: key replica: {metadata['replica']!r}, not {replica}; name the replica with --replica")
    _require_same_parameters(path, tensors, model, resolved.config["model"]["name"], remedy)
    model.load_state_dict(tensors)
    return position, hashlib.sha256(content).hexdigest()


def are_weights_of(path: Path, resolved: Resolved, replica: int) -> bool:
    """Return whether a file holds weights of this replica, in the configuration of today."""
    try:
        metadata, _, _ = _parse_weights(read_whole(path))
    except (*_DAMAGED, OSError):
        return False
    stated = metadata["experiment"], metadata["config_hash"], metadata["replica"]
    return stated == (resolved.id, resolved.config_hash, replica)


def _parse_weights(content: bytes) -> tuple[dict[str, Any], dict[str, int], dict[str, Tensor]]:
    """Return what a file says of itself, the epoch or step that its weights are of, and its tensors by name.

    The file is 8 bytes with the length of a header, the header in JSON and the tensors. safetensors reads the metadata
    in the header from a path alone; a second reading might be of another file than the one that is hashed.
    """
    tensors = load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    stored = json.loads(header["__metadata__"][_KEY])
    metadata = {key: stored[key] for key in ("format", "experiment", "config_hash", "vocabulary_sha256", "replica")}
    position = dict(stored["at"])
    if not all(type(count) is int and count >= 0 for count in position.values()):
        raise ValueError("the epoch or step of the weights is no count")
    return metadata, position, tensors


def _require_same_parameters(
    path: Path, tensors: Mapping[str, Tensor], model: nn.Module, model_name: str, remedy: str
) -> None:
    """Raise `UserError` unless tensors have the names, shapes and types of the model's parameters, and are finite."""
    parameters = model.state_dict()
    if {n: value.shape for n, value in tensors.items()} != {n: value.shape for n, value in parameters.items()}:
        raise UserError(f"{path}: other parameters than the model {model_name} has; {remedy}")
    if wrong := [
        name for name, value in tensors.items() if value.dtype != parameters[name].dtype or not is_finite(value)
    ]:
        raise UserError(
            f"{path}: {wrong[0]} holds other numbers than {parameters[wrong[0]].dtype}, all finite; {remedy}"
        )


def is_finite(value: Tensor) -> bool:
    """Return whether all numbers of a tensor are finite."""
    return bool(torch.isfinite(value).all())
