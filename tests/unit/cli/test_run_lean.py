"""`reprise run` where nothing is installed beyond torch, numpy, pyyaml and rich."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from config_helpers import ROOT
from experiment_helpers import SENTENCES, experiment, make_corpus, write

from reprise import cli
from reprise.errors import EXIT_USAGE
from reprise.records.record import read_record

GUARD = """
import builtins, os, sys
real = builtins.__import__
allowed = {"torch", "numpy", "yaml", "rich", "safetensors", "reprise", *sys.stdlib_module_names}
def guarded(name, globals=None, locals=None, fromlist=(), level=0):
    top, asks = name.partition(".")[0], (globals or {}).get("__name__", "").partition(".")[0]
    if asks == "reprise" and not level:
        if top not in allowed:
            raise ModuleNotFoundError("hidden", name=top)
        if top == "torch" and "CUBLAS_WORKSPACE_CONFIG" not in os.environ:
            raise AssertionError("torch is imported before its environment is set")
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = guarded
from reprise.cli import main
"""
"""Whatever Reprise asks for beyond what a lent machine has is not there."""


@pytest.mark.slow
def test_nothing_is_needed_beyond_torch_numpy_yaml_and_rich(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = str(make_corpus(tmp_path))
    (one,) = write(experiment("a", SENTENCES, corpus, max_epochs=1))
    Path("config").mkdir()
    Path("config/config.yaml").write_text("papers: []\n", encoding="utf-8")
    code = f"{GUARD}sys.exit(main(['run', '--tier', 'quick', '--corpora', '.']))"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CU")}
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert process.returncode == 0, process.stderr
    assert read_record(Path(one.get_record_path(0)), one)["status"] == "finished"


def test_commands_that_need_more_name_the_package_and_the_remedy_in_one_line():
    commands = [["collect"], ["resolve"], ["fetch", "ptb"], ["prepare", "p/e"], ["render"], ["verify"], ["estimate"]]
    commands += [["schemas"], ["collect", "--help"]]
    code = f"{GUARD}print(*(main(arguments) for arguments in {commands}))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert process.stdout.split() == [str(EXIT_USAGE)] * len(commands)
    lines = process.stderr.splitlines()
    assert [line.split()[2] for line in lines] == [command for command, *_ in commands]
    assert all("package pydantic" in line for line in lines)
    assert all("`make env`" in line for line in lines)


def test_a_missing_package_is_named_where_reprise_is_not_installed(monkeypatch, capsys):
    """PYTHONPATH leads to it, as in the environments of `snakemake --use-conda`; no metadata names its extras."""

    def not_installed(name):
        raise PackageNotFoundError(name)

    def missing(command):
        raise ModuleNotFoundError("hidden", name="seaborn")

    monkeypatch.setattr(cli, "requires", not_installed)
    monkeypatch.setattr(cli, "make_command_parser", missing)
    assert cli.main(["render"]) == EXIT_USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("reprise: error: render needs the package seaborn; run `make env`")


@pytest.mark.parametrize(
    ("in_clone", "remedy"),
    [(True, '`pip install ".[data]"`'), (False, "`pip install conllu`, which is of the extra data")],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, capsys, in_clone, remedy):
    """Without a clone there is no folder to install: `reprise` on the public index is another project."""

    def missing(command):
        raise ModuleNotFoundError("hidden", name="conllu")

    monkeypatch.setattr(cli, "_IN_CLONE", in_clone)
    monkeypatch.setattr(cli, "make_command_parser", missing)
    assert cli.main(["prepare"]) == EXIT_USAGE
    assert remedy in capsys.readouterr().err


def test_a_module_of_ours_that_is_missing_is_not_called_a_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "reprise.cli.cache", None)
    with pytest.raises(ModuleNotFoundError, match=r"reprise\.cli\.cache"):
        cli.main(["cache"])
