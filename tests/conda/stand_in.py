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
ACTIVATE = """\
[ -d "$1" ] || { echo "no environment $1" >&2; return 1; }
export CONDA_PREFIX="$1" PATH="$1/bin:$PATH"
"""


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


def install(folder: Path, python: str) -> None:
    """Makes the folder that CONDA_STAND_IN is to name; its bin/ goes to the front of PATH."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    conda = programs / "conda"
    conda.write_text(
        f'#!/bin/sh\nexec {shlex.quote(python)} {shlex.quote(str(Path(__file__).resolve()))} "$@"\n', encoding="utf-8"
    )
    conda.chmod(0o755)
    (programs / "activate").write_text(ACTIVATE, encoding="utf-8")
    (folder / "log").touch()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
