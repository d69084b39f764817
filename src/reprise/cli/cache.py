"""Check DVC's stored figures (.dvc/cache, or the folder of a remote) against their names; exit 1 where one is damaged.

DVC names an object after its checksum and trusts it from then on: it does not look again at a read-only file.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reprise.config.strict_yaml import load_yaml
from reprise.data.raw import file_digest
from reprise.errors import EXIT_FAILED, UserError

_CACHE = Path(".dvc/cache")
_LOCK = Path("dvc.lock")

EXAMPLE = "reprise cache .dvc/cache"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=_CACHE,
        help="the cache, or the folder of a remote; default: %(default)s",
    )


def run(given: argparse.Namespace) -> int:
    objects = given.folder / "files" / "md5"
    if not objects.is_dir():
        raise UserError(f"{given.folder}: no DVC objects there (files/md5); name DVC's cache or the folder of a remote")
    names = locked_outputs(_LOCK)
    paths = sorted(p for p in objects.glob("??/*") if p.is_file())
    damaged = [path for path in paths if file_digest(path, "md5") != path.parent.name + path.name.removesuffix(".dir")]
    for path in damaged:
        what = names.get(path.parent.name + path.name, "no output of today")
        remedy = "remove it and that file, then `dvc pull` or `dvc repro`"
        print(f"reprise: {path}: damaged: its bytes are not those of its name ({what}); {remedy}", file=sys.stderr)
    print(f"{objects}: {len(paths)} objects, {len(damaged)} damaged")
    return EXIT_FAILED if damaged else 0


def locked_outputs(lock: Path) -> dict[str, str]:
    """The path of every output in dvc.lock by its MD5.

    Raises `UserError` where the file is no DVC lock, as after a power cut while DVC wrote it.
    """
    if not lock.is_file():
        raise UserError(f"{lock}: no such file; run this at the top of the clone, or `git checkout {lock}`")
    try:
        stages = load_yaml(lock)["stages"]
        return {out["md5"]: out["path"] for stage in stages.values() for out in stage["outs"]}
    except (KeyError, TypeError, AttributeError):
        raise UserError(f"{lock}: damaged (no stages with outputs); `git checkout {lock}` brings it back") from None
