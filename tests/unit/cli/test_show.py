"""A figure or table is shown with the experiments that it draws."""

import shlex

import yaml

from reprise import cli
from reprise.errors import EXIT_USAGE


def test_a_display_names_its_experiments_and_commands_that_exist(clone, capsys):
    paper = yaml.safe_load((clone / "config/papers/digits.yaml").read_text(encoding="utf-8"))
    kind, display = next((kind, name) for kind in ("figures", "tables") for name in paper.get(kind, {}))
    cited = [name for name, entry in paper["experiments"].items() if display in entry.get("cited_by", [])]
    assert cli.main(["show", f"digits-{display}", "--tier", "quick"]) == 0
    output = capsys.readouterr().out
    assert all(f"digits/{name}" in output for name in cited)
    lines = [line.removesuffix(" &&") for line in output.splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("reprise ")]
    assert len(commands) == (7 if cited else 1)
    for _, command, *arguments in commands:
        cli.make_command_parser(command).parse_args(arguments)


def test_an_unknown_display_is_refused(clone, capsys):
    assert cli.main(["show", "digits-nothing"]) == EXIT_USAGE
    assert "'digits-nothing'" in capsys.readouterr().err
