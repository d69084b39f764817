"""Write a project folder for a paper of one's own."""

import argparse
import keyword
import re
import shutil
import site
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from reprise.errors import UserError

CLONE = Path(__file__).resolve().parents[3]
TEMPLATE = Path(__file__).with_name("template")
_PLACEHOLDER = "PACKAGE"


def snakefile_command(options: argparse.Namespace) -> None:
    """Print where the workflow is, for `module reprise: snakefile: …` in a Snakefile of your own."""
    # The second is where `pip install` puts data files, the third `pip install --user`.
    prefixes = [sysconfig.get_path("data"), site.getuserbase()]
    paths = [root / "workflow/Snakefile" for root in (CLONE, *(Path(p, "share/reprise") for p in prefixes))]
    existing = next((path for path in paths if path.is_file()), None)
    if existing is None:
        raise UserError(f"{paths[1]}: no such file; install reprise again")
    print(existing)


def new_command(options: argparse.Namespace) -> None:
    """Write a project folder for a paper of your own: config/, a model, its test and a README.

    It holds a whole small example, from experiments on generated data to a claim, to be replaced step by step.
    """
    folder, name = options.folder, options.folder.absolute().name
    if not re.fullmatch(r"[a-z][a-z0-9]*", name) or keyword.iskeyword(name):
        raise UserError(f"{folder}: the folder's name is that of a package too; write small letters and digits")
    if (spec := find_spec(name)) and spec.origin:  # an empty folder has a specification without a file
        raise UserError(f"{folder}: Python has a package {name} already ({spec.origin}); choose another name")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there already and not empty; name another folder")
    try:
        _write_template(folder, name)
    except BaseException:
        # Half a folder would be in the way of the next try. What is in it is from here alone.
        for path in folder.iterdir() if folder.is_dir() else ():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise
    print(f"{folder}: written; next: cd {folder} && reprise resolve")


def _write_template(folder: Path, name: str) -> None:
    for source in sorted(path for path in TEMPLATE.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        parts = [part.replace(_PLACEHOLDER, name) for part in source.relative_to(TEMPLATE).parts]
        target = folder.joinpath(*parts[:-1], ".gitignore" if parts[-1] == "gitignore" else parts[-1])
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text(encoding="utf-8").replace(_PLACEHOLDER, name), encoding="utf-8")
