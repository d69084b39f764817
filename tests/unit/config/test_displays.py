"""Figures and tables as a paper's file names them."""

from __future__ import annotations

import ast
import inspect

import pytest
from config_helpers import add_example, copy_config, edit, mistake

from reprise.catalogue.displays import FUNCTIONS
from reprise.cli import main
from reprise.errors import EXIT_USAGE
from reprise.report.render import find_function

EVERY = [(kind, name) for kind, functions in FUNCTIONS.items() for name in functions]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_a_function_reads_the_options_that_are_registered_of_it(kind, name):
    tree = ast.parse(inspect.getsource(find_function(kind, name)))
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "options"]
    keys = [
        node.slice.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "options"
    ]
    assert len(keys) == len(uses)  # nothing else is done with them
    assert set(keys) == FUNCTIONS[kind][name].keys()


@pytest.mark.parametrize("command", [["train", "rrntn/s-rnn-100", "--replica", "0"], ["collect"]])
def test_a_mistake_in_a_figure_is_reported_by_every_command(tmp_path, monkeypatch, capsys, command):
    edit(copy_config(tmp_path), "papers/palindromes.yaml", "options: {smooth: 20}", "options: {smoth: 20}")
    monkeypatch.chdir(tmp_path)
    assert main([*command, "--tier", "quick"]) == EXIT_USAGE
    error = capsys.readouterr().err
    assert error.startswith("reprise: error: config/papers/palindromes.yaml: key figures.figure-")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("paper", "old", "new", "key"),
    [
        ("sizes", "function: language_models.perplexity", "function: books.measures", "tables.table-1.function"),
        ("books", "    cited_by: [checks]", "    cited_by: [checks, loss-at-steps]", "tables.loss-at-steps.function"),
        (
            "rrntn",
            "[table-1]\n    reported:\n      - {metric: perplexity, split: test, value: 164.2",
            "[table-1, figure-1]\n    reported:\n      - {metric: perplexity, split: test, value: 164.2",
            "figures.figure-1.function",
        ),
    ],
)
def test_what_a_function_does_not_draw_is_refused(tmp_path, paper, old, new, key):
    edit(add_example(copy_config(tmp_path)), f"papers/{paper}.yaml", old, new)
    assert f"config/papers/{paper}.yaml: key {key}: " in mistake(tmp_path)
