"""A figure or table is shown with the experiments that it draws."""

import shlex

import pytest
import yaml

from reprise import cli
from reprise.errors import EXIT_USAGE


@pytest.mark.parametrize(("paper", "has_text"), [("digits", False), ("words", True)])
def test_a_display_names_its_experiments_and_commands_that_exist(clone, capsys, paper, has_text):
    content = yaml.safe_load((clone / f"config/papers/{paper}.yaml").read_text(encoding="utf-8"))
    displays = [name for kind in ("figures", "tables") for name in content.get(kind, {})]
    cited_by = {name: entry.get("cited_by", []) for name, entry in content["experiments"].items()}
    display = next(name for name in displays if any(name in names for names in cited_by.values()))
    assert cli.main(["show", f"{paper}-{display}", "--tier", "quick"]) == 0
    output = capsys.readouterr().out
    assert all(f"{paper}/{name}" in output for name, names in cited_by.items() if display in names)
    lines = [line.removesuffix(" &&") for line in output.splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("reprise ")]
    steps = ["fetch", "prepare"] if has_text else []  # what reads no text has nothing to prepare
    assert [command for _, command, *_ in commands] == ["render", *steps, "run", "collect", "verify", "render"]
    for _, command, *arguments in commands:
        cli.make_command_parser(command).parse_args(arguments)


def test_an_unknown_display_is_refused(clone, capsys):
    assert cli.main(["show", "digits-nothing"]) == EXIT_USAGE
    assert "'digits-nothing'" in capsys.readouterr().err
