"""Document 000's sizes: what its budget of 500,000 parameters leaves room for."""

from fractions import Fraction
from pathlib import Path

import pytest
import torch

from reprise.catalogue.models import MODELS
from reprise.config.project import read_paper
from reprise.models import gso_sizes

NETWORKS = ("gso", "first-order", "mi-rnn")
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
    assert gso_sizes.find_gso_sizes("1", 27, *terms) == (size, size)
    assert gso_sizes.count_gso_parameters(size, size, 27, *terms) == parameters


def test_table_1_references():
    first_order = gso_sizes.find_largest_size(lambda h: gso_sizes.count_first_order_parameters(h, 27))
    general = gso_sizes.find_largest_size(lambda h: gso_sizes.count_integration_parameters(h, 27, "general"))
    simple = gso_sizes.find_largest_size(lambda h: gso_sizes.count_integration_parameters(h, 27, "simple"))
    assert (first_order, general, simple) == (680, 678, 680)
    assert gso_sizes.count_first_order_parameters(680, 27) == 499_827
    assert gso_sizes.count_integration_parameters(678, 27, "general") == 499_035


def test_figure_1():
    for symbols, expected in FIGURE_1.items():
        assert [gso_sizes.find_gso_sizes(ratio, symbols, False, False) for ratio in gso_sizes.RATIOS] == expected
    sizes = [gso_sizes.find_gso_sizes(ratio, 27, True, True) for ratio in ("0.1", "2", "20")]
    assert sizes == [(622, 62), (305, 610), (103, 2060)]


def test_halves_are_rounded_to_even():
    assert [gso_sizes.compute_second_order_size(h, Fraction("0.5")) for h in (1, 3, 5, 7)] == [1, 2, 2, 4]
    assert gso_sizes.compute_second_order_size(1505, Fraction("0.1")) == 150


def parameters_of(experiment, larger=0):
    """Those of an experiment's model, with `larger` hidden units more."""
    options = {key: setting.value for key, setting in experiment.model.settings.items()}
    terms = {key: options[key] for key in ("input_term", "recurrent_term", "form", "activation") if key in options}
    h = options["hidden_size"]
    if "second_order_size" in options:
        ratio = experiment.title.rpartition(" = ")[2] if " = " in experiment.title else "1"
        assert options["second_order_size"] == gso_sizes.compute_second_order_size(h, Fraction(ratio))
        terms["second_order_size"] = gso_sizes.compute_second_order_size(h + larger, Fraction(ratio))
    symbols = {"characters": 27, "bigrams": 703}[experiment.data.settings["tokens"].value]
    with torch.device("meta"):
        model = MODELS[experiment.model.name].build(terms, vocabulary=symbols, hidden_size=h + larger)
    return sum(p.numel() for p in model.parameters())


def test_the_configured_models_are_the_largest_within_the_budget():
    paper = read_paper(ROOT / "config/papers/gso.yaml")[0]
    models = {name: e for name, e in paper.experiments.items() if e.model and e.model.name in NETWORKS}
    assert len(models) == 10 + 15
    for name, experiment in models.items():
        assert parameters_of(experiment) <= gso_sizes.BUDGET < parameters_of(experiment, larger=1), name
    alternative = paper.assumptions["figure-1-terms"].alternatives["kept"]
    for name in alternative.experiments:
        symbols = 27 if "unigram" in name else 703
        ratio = paper.experiments[name].title.rpartition(" = ")[2]
        changes = alternative.get_changes(name)
        assert (changes["hidden_size"], changes["second_order_size"]) == gso_sizes.find_gso_sizes(
            ratio, symbols, True, True
        )
        assert changes["input_term"] is changes["recurrent_term"] is True
