"""Document 000's sizes: what its budget of 500,000 parameters leaves room for."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import torch

from reprise.catalogue.models import MODELS
from reprise.config.project import read_paper
from reprise.models import sizes

ROOT = Path(__file__).parents[3]

ABLATION = {  # (D, E): h = m and the parameters
    (True, True): (394, 498_043),
    (True, False): (479, 498_187),
    (False, True): (399, 499_575),
    (False, False): (486, 499_149),
}
FIGURE_1 = {
    27: [(1505, 150), (1077, 215), (686, 343), (486, 486), (343, 686), (215, 1075), (150, 1500), (104, 2080)],
    703: [(563, 56), (481, 96), (354, 177), (259, 259), (177, 354), (96, 480), (56, 560), (31, 620)],
}


@pytest.mark.parametrize(("terms", "expected"), ABLATION.items())
def test_table_1(terms, expected):
    size, parameters = expected
    assert sizes.gso_sizes("1", 27, *terms) == (size, size)
    assert sizes.gso_parameters(size, size, 27, *terms) == parameters


def test_table_1_references():
    assert sizes.first_order_size(27) == 680
    assert sizes.first_order_parameters(680, 27) == 499_827
    assert sizes.integration_size(27, "general") == 678
    assert sizes.integration_parameters(678, 27, "general") == 499_035
    assert sizes.integration_size(27, "simple") == 680


def test_figure_1():
    for symbols, expected in FIGURE_1.items():
        assert [sizes.gso_sizes(ratio, symbols, False, False) for ratio in sizes.RATIOS] == expected
    found = [sizes.gso_sizes(ratio, 27, True, True) for ratio in ("0.1", "2", "20")]
    assert found == [(622, 62), (305, 610), (103, 2060)]


def test_halves_are_rounded_to_even():
    assert [sizes.second_order_size(h, Fraction("0.5")) for h in (1, 3, 5, 7)] == [1, 2, 2, 4]
    assert sizes.second_order_size(1505, Fraction("0.1")) == 150


@pytest.mark.parametrize("budget", [1000, 12_345, 500_000])
@pytest.mark.parametrize("ratio", ["0.1", "1", "20"])
def test_a_larger_model_would_not_fit(budget, ratio):
    h, m = sizes.gso_sizes(ratio, 27, True, False, budget)
    assert sizes.gso_parameters(h, m, 27, True, False) <= budget
    more = sizes.second_order_size(h + 1, Fraction(ratio))
    assert sizes.gso_parameters(h + 1, more, 27, True, False) > budget


def test_a_budget_below_one_unit():
    with pytest.raises(ValueError, match="a budget of 10 parameters is below the 112 of one hidden unit"):
        sizes.gso_sizes("1", 27, True, True, budget=10)


def test_the_configured_sizes_are_the_solvers_and_the_modules_have_that_many_parameters():
    paper = read_paper(ROOT / "config/papers/gso.yaml")[0]
    compared = 0
    for name, experiment in paper.experiments.items():
        if experiment.model is None or experiment.model.name not in ("gso", "first-order", "mi-rnn"):
            continue
        options = {key: setting.value for key, setting in experiment.model.settings.items()}
        tokens = experiment.data.settings["tokens"].value
        symbols = {"characters": 27, "bigrams": 703}[tokens]
        size = {"hidden": options["hidden_size"]}
        if experiment.model.name == "gso":
            terms = {key: options[key] for key in ("input_term", "recurrent_term")}
            ratio = experiment.title.rpartition(" = ")[2] if name.startswith("f1-") else "1"
            expected = sizes.gso_sizes(ratio, symbols, **terms)
            assert (options["hidden_size"], options["second_order_size"]) == expected, name
            size |= {"second_order": options["second_order_size"], **terms}
            parameters = sizes.gso_parameters(*expected, symbols, **terms)
        elif experiment.model.name == "first-order":
            assert options["hidden_size"] == sizes.first_order_size(symbols)
            parameters = sizes.first_order_parameters(options["hidden_size"], symbols)
        else:
            assert options["hidden_size"] == sizes.integration_size(symbols, options["form"])
            size["form"] = options["form"]
            parameters = sizes.integration_parameters(options["hidden_size"], symbols, options["form"])
        with torch.device("meta"):
            model = MODELS[experiment.model.name].build(vocabulary=symbols, activation=options["activation"], **size)
        assert sum(p.numel() for p in model.parameters()) == parameters
        compared += 1
    assert compared == 10 + 15
    kept = paper.assumptions["figure-1-terms"].alternatives["kept"]
    for name in kept.experiments:
        symbols = 27 if "unigram" in name else 703
        ratio = paper.experiments[name].title.rpartition(" = ")[2]
        changes = kept.changes(name)
        assert (changes["hidden_size"], changes["second_order_size"]) == sizes.gso_sizes(ratio, symbols, True, True)
        assert changes["input_term"] is changes["recurrent_term"] is True
