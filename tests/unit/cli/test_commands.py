"""What all commands have in common: help with an example, completion, exit statuses."""

import io
import shlex
import sys

import pytest

from reprise import cli


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_explains_itself_with_an_example_that_it_takes(command, capsys):
    with pytest.raises(SystemExit, match="^0$"):
        cli.main([command, "--help"])
    example = " ".join(capsys.readouterr().out.split()).partition("example: ")[2]
    program, name, *rest = shlex.split(example)
    assert (program, name) == ("reprise", command)
    cli.make_command_parser(command).parse_args(rest)


def test_help_lists_every_command_and_none_is_bad_input(capsys):
    with pytest.raises(SystemExit, match="^0$"):
        cli.main(["--help"])
    first = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert [name for name in first if name in cli.COMMANDS] == list(cli.COMMANDS)
    assert cli.main([]) == 2


@pytest.mark.parametrize("shell", cli.SHELLS)
def test_completion_knows_commands_and_options(shell, capsys):
    assert cli.main(["--print-completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in (*cli.COMMANDS, "replica", "tier"))


def test_a_closed_output_ends_no_command(monkeypatch):
    """As under some daemons: Python then has no stream at all."""
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert cli.main(["list", "--tier", "quick"]) == 0


@pytest.mark.parametrize(("encoding", "printed"), [("ascii", "? 1 ?2"), ("latin-1", "§ 1 ?2"), ("utf-8", "§ 1 −2")])
def test_what_a_terminal_cannot_show_ends_no_command(monkeypatch, encoding, printed):
    def show(options):
        """Show."""
        print("§ 1 −2")
        print("§ 1 −2", file=sys.stderr)

    monkeypatch.setattr(cli, "_load_function", lambda command: show)
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    status = cli.main(["show", "a/b"])
    for stream in streams:
        stream.flush()
    assert [stream.buffer.getvalue().decode(encoding) for stream in streams] == [f"{printed}\n"] * 2
    assert status == 0
