"""Check DVC's stored figures against their names."""

import argparse
from pathlib import Path

from reprise.config.strict_yaml import load_yaml
from reprise.data.raw import compute_digest
from reprise.errors import Failed, UserError

_LOCK = Path("dvc.lock")


def cache_command(options: argparse.Namespace) -> None:
    """Check DVC's stored figures against their names; exit 1 where one is damaged.

    They are in .dvc/cache, or in the folder of a remote.

    DVC names an object after its checksum and trusts it from then on: it does not look again at a read-only file.
    """
    objects = options.folder / "files" / "md5"
    if not objects.is_dir():
        raise UserError(
            f"{options.folder}: holds no DVC objects (files/md5); name DVC's cache or the folder of a remote"
        )
    names = read_locked_outputs(_LOCK)
    paths = sorted(p for p in objects.glob("??/*") if p.is_file())
    damaged = [
        path for path in paths if compute_digest(path, "md5") != path.parent.name + path.name.removesuffix(".dir")
    ]
    print(f"{objects}: {len(paths)} objects, {len(damaged)} damaged")
    if damaged:
        descriptions = ", ".join(
            f"{path} ({names.get(path.parent.name + path.name, 'no output of today')})" for path in damaged
        )
        remedy = "remove each object and its output, then run `dvc pull` or `dvc repro`"
        raise Failed(f"damaged (checksum and name differ): {descriptions}; {remedy}")


def read_locked_outputs(lock: Path) -> dict[str, str]:
    """Return the path of every output in dvc.lock by its MD5.

    Raises:
        UserError: The file is no DVC lock, as after a power cut while DVC wrote it.
    """
    if not lock.is_file():
        raise UserError(f"{lock}: no such file; run this at the top of the clone, or `git checkout {lock}`")
    try:
        stages = load_yaml(lock)["stages"]
        return {out["md5"]: out["path"] for stage in stages.values() for out in stage["outs"]}
    except (UserError, KeyError, TypeError, AttributeError):
        raise UserError(f"{lock}: damaged (no stages with outputs); `git checkout {lock}` brings it back") from None
