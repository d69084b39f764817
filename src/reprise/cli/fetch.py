"""Download the raw files of datasets into data/raw/, or take them from the folder REPRISE_MIRROR; checksums always."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from reprise.cli.common import mirror
from reprise.config.project import load_project
from reprise.errors import UserError, known

RAW = Path("data/raw")

EXAMPLE = "reprise fetch ptb"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", nargs="+", help="names under `datasets` in config/config.yaml")
    parser.add_argument("--file", action="append", help="only this raw file (may be given again)")


def run(given: argparse.Namespace) -> None:
    from reprise.data.fetch import fetch

    project = load_project(".")
    datasets = project.config.datasets
    for name in given.dataset:
        if name not in datasets:
            raise UserError(f"config/config.yaml: key datasets: no dataset '{name}'; {known(name, datasets)}")
        spec = project.spec(name)
        if given.file:
            files = {f.name: f for f in spec.files}
            for file in given.file:
                if file not in files:
                    raise UserError(f"--file: dataset {name} has no file '{file}'; {known(file, files)}")
            spec = replace(spec, files=tuple(files[file] for file in given.file))
        if not spec.files:
            print(f"{name}: nothing to fetch", file=sys.stderr, flush=True)
        fetch(spec, RAW, mirror(), lambda line: print(line, file=sys.stderr, flush=True))
