"""A stand-in for the command `conda`, where no channel of packages can be reached.

It answers what Snakemake asks: info, version, channel priority, and `env create`, which makes an "environment" whose
`python` is the running one with every package hidden that the environment's file does not bring (tests/workflow/
gate.py). It solves nothing and installs nothing: that the packages of a file can be had together it does not show.
CONDA_STAND_IN names its folder: bin/conda, bin/activate, and `log`, a line for each call and each start of a Python.
"""

import json
import os
import shlex
import sys
from pathlib import Path

GATE = Path(__file__).resolve().parents[1] / "workflow" / "gate.py"


def main(arguments: list[str]) -> int:
    log(f"conda {' '.join(arguments)}")
    match arguments:
        case ["info", "--json"]:
            print(json.dumps({"conda_prefix": os.environ["CONDA_STAND_IN"], "platform": "linux-64"}))
        case ["--version"]:
            print("conda 24.7.1")
        case ["config", "--get", "channel_priority", "--json"]:
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ["env", "create", "--quiet", "--no-default-packages", "--file", file, "--prefix", prefix]:
            create(Path(file), Path(prefix))
        case ["clean", "-y", "--tarballs"]:
            pass
        case _:
            print(f"the stand-in for conda does not know: {arguments}", file=sys.stderr)
            return 1
    return 0


def create(file: Path, prefix: Path) -> None:
    """The environment: bin/python, and the gate as what Python imports when it starts."""
    site = prefix / "site"
    site.mkdir(parents=True)
    (site / "sitecustomize.py").symlink_to(GATE)
    content = prefix / "environment.yaml"
    content.write_bytes(file.read_bytes())
    (prefix / "bin").mkdir()
    python = prefix / "bin" / "python"
    name = shlex.quote(str(content))
    python.write_text(
        "#!/bin/sh\n"
        f'echo "python {prefix.name} $*" >> "$CONDA_STAND_IN/log"\n'
        f"export REPRISE_TEST_ENVIRONMENT={name}\n"
        f'export PYTHONPATH={shlex.quote(str(site))}:"$PYTHONPATH"\n'
        f'exec {shlex.quote(sys.executable)} "$@"\n',
        encoding="utf-8",
    )
    python.chmod(0o755)


def log(line: str) -> None:
    with Path(os.environ["CONDA_STAND_IN"], "log").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
