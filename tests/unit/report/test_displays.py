"""Figures and tables as a paper's file names them: their functions and options are told where config/ is read."""

import ast
import inspect
from importlib import import_module

import pytest
from config_helpers import add_example, copy_config, edit, mistake
from project import ROOT

from reprise.catalogue.displays import FUNCTIONS
from reprise.catalogue.options.base import list_options
from reprise.catalogue.options.displays import find_display_options
from reprise.cli import main
from reprise.errors import EXIT_USAGE
from reprise.report.render import find_function

FOLDER = ROOT / "src/reprise/report/papers"
FUNCTION_NAMES = [(kind, name) for kind, functions in FUNCTIONS.items() for name in functions]


def test_every_function_that_draws_is_listed():
    """A function that takes what those take that draw is one of them."""
    for file in sorted(FOLDER.glob("*/*.py")):
        module = import_module(f"reprise.report.papers.{file.parent.name}.{file.stem}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            drawn = list(inspect.signature(function).parameters)[2:] == ["options"]
            if file.stem in FUNCTIONS and drawn and function.__module__ == module.__name__:
                assert f"{file.parent.name}.{name}" in FUNCTIONS[file.stem]


@pytest.mark.parametrize(("kind", "name"), FUNCTION_NAMES)
def test_a_function_reads_the_options_that_are_registered_of_it(kind, name):
    nodes = list(ast.walk(ast.parse(inspect.getsource(find_function(kind, name)))))
    uses = [node for node in nodes if isinstance(node, ast.Name) and node.id == "options"]
    read = [node.slice.value for node in nodes if isinstance(node, ast.Subscript) and node.value in uses]
    assert len(read) == len(uses)  # nothing else is done with them
    assert set(read) == set(list_options(find_display_options(kind, name)))


@pytest.fixture
def clone(tmp_path, monkeypatch):
    monkeypatch.chdir(copy_config(tmp_path))
    return tmp_path


CLAIMS = "function: shared.claims\n"


SMOOTH, CURVES = "options: {smooth: 20}", "palindromes.training_curves"
NO_OPTION = "options.a: shared.claims has no such option; known are none"
MISSPELT = (SMOOTH, "options: {smoth: 20}", "options.smoth: palindromes.training_curves has no such")


@pytest.mark.parametrize(
    ("command", "old", "new", "message"),
    [
        ("train rrntn/s-rnn-100 --replica 0", *MISSPELT),
        ("collect", *MISSPELT),
        ("resolve", *MISSPELT),
        ("resolve", SMOOTH, "options: {smooth: many}", "options.smooth: 'many' should be a whole number"),
        ("resolve", SMOOTH, "options: {smooth: 0}", "options.smooth: 0 is out of bounds; write a number of at least 1"),
        ("resolve", CURVES, "palindromes.training_curve", "did you mean 'palindromes.training_curves'?"),
        ("resolve", CURVES, "palindromes._ours", "function: no function 'palindromes._ours'"),
        ("resolve", CLAIMS, f"{CLAIMS}    options: {{a: 1}}\n", NO_OPTION),
    ],
)
def test_a_mistake_in_a_display_is_told_by_every_command(clone, command, old, new, message, capsys):
    edit(clone, "papers/palindromes.yaml", old, new)
    assert main([*command.split(), "--tier", "quick"]) == EXIT_USAGE
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("reprise: error: config/papers/palindromes.yaml: key ")
    assert message in error


CITED = "cited_by: [{}]\n    reported:\n      - {{metric: perplexity, split: test, value: 164.2"


@pytest.mark.parametrize(
    ("paper", "old", "new", "key"),
    [
        ("sizes", "function: shared.perplexity", "function: books.measures", "tables.table-1"),
        ("sizes", "function: shared.perplexity", "function: shared.checks", "tables.table-1"),
        # Neither a check nor two at once nor what lacks a setting.
        ("books", "cited_by: [checks]", "cited_by: [checks, loss-at-steps]", "tables.loss-at-steps"),
        ("books", "loss-at-steps, table-2,", "loss-at-steps, table-1, table-2,", "tables.table-1"),
        ("rrntn", CITED.format("table-1"), CITED.format("table-1, figure-1"), "figures.figure-1"),
    ],
)
def test_a_function_that_does_not_draw_what_is_cited_is_told_before_anything_is_trained(clone, paper, old, new, key):
    add_example(clone)
    edit(clone, f"papers/{paper}.yaml", old, new)
    assert f"config/papers/{paper}.yaml: key {key}.function: " in mistake(clone)
