"""Paper arithmetic: formulas, what counts as agreement, and every committed formula held to the model it counts."""

import inspect
import math
from importlib import import_module

import pytest
import torch
from config_helpers import ROOT

from reprise.catalogue.models import MODELS
from reprise.config.claims import Arithmetic
from reprise.config.formula import evaluate, find_names, read_printed
from reprise.config.project import read_paper
from reprise.evidence.arithmetic import AGREES, CUT, DIFFERS, NOT_EQUAL, compute_number
from reprise.units import convert_entropy, derive_metrics

PAPERS = sorted((ROOT / "config/papers").glob("*.yaml"))


def entry(formula: str, **fields) -> Arithmetic:
    return Arithmetic.model_validate({"text": "A number", "place": "Table 1", "formula": formula, **fields})


@pytest.mark.parametrize(
    ("formula", "values", "value"),
    [
        ("2 * H * V + K * H ** 2 + K * H + V", {"H": 100, "V": 10000, "K": 100}, 3020000),
        ("words + ranges + 3 * sentences", {"words": 401960, "ranges": 11765, "sentences": 16448}, 463069),
        ("-(a - b) / 2", {"a": 1, "b": 4}, 1.5),
        ("exp(log(a))", {"a": 7.0}, pytest.approx(7.0)),
    ],
)
def test_formulas_by_hand(formula, values, value):
    assert evaluate(formula, values) == value
    assert find_names(formula) == values.keys()


@pytest.mark.parametrize(
    "formula",
    [
        "7 ** 7 ** 7 ** 7",
        "(2 ** 1000) ** 1000",
        "(-9) ** 99999",
        "-" * 300 + "1",
        "a" + "+a" * 4000,
        "~" * 100_000 + "1",
        "(" * 100_000,
        "a\0",
        "9" * 499,
    ],
)
def test_a_formula_beyond_measure_is_refused_at_once(formula):
    with pytest.raises(ValueError, match="too l|formula|arithmetic"):
        evaluate(formula, {"a": 1})


def test_powers_of_the_usual_sizes_are_exact():
    assert evaluate("a ** 20 + 2 ** -1", {"a": 1024}) == 2**200 + 0.5
    assert evaluate("a ** 0.5", {"a": 9}) == 3.0
    assert evaluate("-" * 190 + "1", {}) == 1


@pytest.mark.parametrize("formula", ["open('f')", "a.b", "a[0]", "True", "exp(1, 2)", "a +", "(-1) ** 0.5", "1e400"])
def test_what_is_not_arithmetic_is_refused(formula):
    with pytest.raises(ValueError, match="formula|arithmetic|no number"):
        evaluate(formula, {"a": 1})


@pytest.mark.parametrize(
    ("text", "value", "digit"),
    [("3M", 3e6, 1e6), ("4.3k", 4.3e3, 1e2), ("4K", 4e3, 1e3), ("82 %", 0.82, 0.01), ("463,069", 463069, 1)],
)
def test_printed_numbers_are_read_with_their_last_digit(text, value, digit):
    assert read_printed(text) == (pytest.approx(value), pytest.approx(digit))


@pytest.mark.parametrize(
    ("formula", "text", "agreement"),
    [
        ("3020000", "3M", AGREES),
        ("388873051", "388M", CUT),
        ("388873051", "389M", AGREES),
        ("102010100", "103M", DIFFERS),
        ("0.9 * 0.8", "82 %", DIFFERS),
        ("0.9 * 0.8", "72 %", AGREES),
        ("433 / 161", "2.7", AGREES),
        ("exp(5.08)", "161", AGREES),
        ("2.45", "2.4", AGREES),
        ("2.45", "2.5", AGREES),
        ("2.5", "2.4", DIFFERS),
    ],
)
def test_a_printed_number_agrees_is_cut_or_does_not_agree(formula, text, agreement):
    assert compute_number(entry(formula, printed=text)).agreement == agreement


def test_what_the_paper_calls_equal_is_equal_or_off_by_a_share():
    assert compute_number(entry("4 * (d + 1)", values={"d": 3}, equals="4 * d + 4")).agreement == AGREES
    number = compute_number(entry("3020000", equals="3032650"))
    assert (number.agreement, number.second_value, number.relative_difference) == (
        NOT_EQUAL,
        3032650,
        pytest.approx(-0.00417, abs=1e-5),
    )


def counted(experiment, values) -> int:
    """Parameters of the experiment's model, built without memory for them."""
    module, name = MODELS[experiment.model.name].target.split(":")
    model = getattr(import_module(module), name)
    options = {key: setting.value for key, setting in experiment.model.settings.items()}
    options |= {"vocabulary": values.get("V"), "input_size": values.get("d"), "output_size": values.get("k")}
    with torch.device("meta"):
        built = model(**{key: options[key] for key in inspect.signature(model).parameters if key in options})
    return sum(p.numel() for p in built.parameters())


@pytest.mark.parametrize("path", [*PAPERS, ROOT / "docs/example-paper.yaml"], ids=lambda path: path.stem)
def test_committed_formulas_count_the_parameters_of_the_models(path):
    paper = read_paper(path)[0]
    for key, arithmetic in paper.arithmetic.items():
        if arithmetic.experiment:
            parameters = counted(paper.experiments[arithmetic.experiment], arithmetic.values)
            assert evaluate(arithmetic.formula, arithmetic.values) == parameters, key


def test_what_the_papers_print_agrees_or_is_among_the_errata_found():
    rrntn = read_paper(ROOT / "config/papers/rrntn.yaml")[0]
    numbers = {key: compute_number(arithmetic) for key, arithmetic in rrntn.arithmetic.items()}
    docs = read_paper(ROOT / "docs/example-paper.yaml")[0].arithmetic.values()
    assert {compute_number(arithmetic).agreement for arithmetic in docs} == {AGREES}
    off = {"parameters-text8-rntn-100": CUT, "parameters-text8-r-rntn-150": CUT}
    off |= {"rntn-single-bias": DIFFERS, "rntn-single-bias-text8": DIFFERS}
    assert {key: one.agreement for key, one in numbers.items() if one.agreement in {CUT, DIFFERS}} == off
    # As equation 3 has it: 385.1M.
    assert round(numbers["rntn-single-bias-text8"].value / 1e5) == 3851
    # K makes the two models of equal size: 376 on the paper's text8, and 88 on the prefix's, where 88.49 is rounded.
    sizes = [numbers[key].value for key in ("parity-text8", "parity-text8-prefix")]
    assert sizes[1] == pytest.approx(88.49, abs=0.005)
    for name in ("text8-r-rntn-100", "text8-r-rntn-150"):
        model, tiers = rrntn.experiments[name].model, rrntn.experiments[name].tiers
        configured = [model.settings["matrices"].value, tiers["reduced"].reductions["matrices"]]
        assert configured == [round(size) for size in sizes] == [376, 88]


def test_entropies_are_converted_in_one_place():
    assert convert_entropy(1.0, "nats/character", "bits/character") == pytest.approx(1.442695)
    assert convert_entropy(
        convert_entropy(1.3, "bits/token", "nats/token"), "nats/token", "bits/token"
    ) == pytest.approx(1.3)
    # 100 tokens of 157 characters.
    assert convert_entropy(1.57, "nats/token", "nats/character", tokens=100, characters=157) == pytest.approx(1.0)
    assert convert_entropy(1.0, "nats/character", "bits/token", tokens=100, characters=157) == pytest.approx(
        1.57 * 1.442695
    )
    with pytest.raises(ValueError, match="tokens and characters"):
        convert_entropy(1.0, "nats/token", "nats/character")
    with pytest.raises(ValueError, match="no unit"):
        convert_entropy(1.0, "nats", "bits/token")


def test_a_perplexity_beyond_all_numbers_is_infinite():
    loss = {"metric": "cross_entropy", "split": "test", "unit": "nats/token", "value": 800.0, "n": 100}
    (row,) = derive_metrics(loss, [loss])
    assert (row["metric"], row["value"], row["n"]) == ("perplexity", math.inf, 100)


def test_a_record_with_counted_characters_gives_bits_per_character():
    loss = {"metric": "cross_entropy", "split": "test", "unit": "nats/token", "value": 1.57, "n": 100}
    count = {"metric": "predicted_characters", "split": "test", "unit": "characters", "value": 157, "n": 100}
    perplexity, row = derive_metrics(loss, [loss, count])
    assert [perplexity["metric"], row["metric"]] == ["perplexity", "bits_per_character"]
    assert (row["unit"], row["n"]) == ("bits/character", 157)
    assert row["value"] == pytest.approx(1.442695)
    assert [row["metric"] for row in derive_metrics(loss, [loss, {**count, "split": "valid"}])] == ["perplexity"]
