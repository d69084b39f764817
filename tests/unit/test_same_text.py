"""A tier may swap the text of an experiment, but not of one alone of those that are compared."""

from __future__ import annotations

import pytest
from config_helpers import add_example, copy_config, edit, mistake

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier

SIZES = "papers/sizes.yaml"
UNITS_20 = "      hidden_size: {value: 20, from: paper §2}\n"
WIDE = "          quick: {replicas: 3, max_epochs: 2}\n"
PROSE = "dataset: synthetic-sentences, vocabulary_size: 200, training_sentences: 90, seed: 1"
KNOWN = "dataset: synthetic, vocabulary_size: 200, training_sentences: 2000, seed: 1"


@pytest.fixture
def clone(tmp_path):
    return add_example(copy_config(tmp_path))


def swap(clone, entry: str) -> None:
    """Gives the second experiment of the example, which a claim compares with the first, a tier of its own."""
    edit(clone, SIZES, UNITS_20, UNITS_20 + f"    tiers:\n      quick: {{{entry}}}\n")


def other_text(clone) -> None:
    """A second generated dataset, made as the first is."""
    edit(
        clone,
        "config.yaml",
        "\ndatasets:\n",
        "\ndatasets:\n  synthetic-sentences:\n    title: Others\n    licence: none needed (generated)\n"
        '    homepage: ""\n    prepare: synthetic\n',
    )


def test_a_claim_is_not_decided_by_two_texts(clone):
    other_text(clone)
    swap(clone, f"replicas: 3, max_epochs: 2, {PROSE}")
    assert mistake(clone) == (
        f"{clone}/config/papers/sizes.yaml: key experiments.units-20.tiers.quick.dataset: claims.S1 compares it with "
        "'units-10', which reads synthetic at this tier; give both the same"
    )


def test_nor_by_two_sizes_of_one_text(clone):
    swap(clone, "replicas: 3, max_epochs: 2, training_sentences: 90")
    says = "experiments.units-20.tiers.quick.training_sentences: claims.S1 compares it with 'units-10', which has "
    assert says + "training_sentences 2000 at this tier; give both the same" in mistake(clone)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (PROSE, "tiers.quick.dataset: 'units-10' itself reads synthetic at this tier, and this reads synthetic-sen"),
        ("seed: 2", "tiers.quick.seed: 'units-10' itself has seed 1 at this tier, and this has seed 2; give both the"),
    ],
)
def test_a_variant_reads_what_its_experiment_reads(clone, entry, says):
    other_text(clone)
    edit(clone, SIZES, WIDE, WIDE.replace("}", f", {entry}}}"))
    assert f"key assumptions.start.alternatives.wide.{says}" in mistake(clone)


def test_texts_may_differ_where_the_papers_file_says_so(clone):
    edit(clone, SIZES, UNITS_20, f"{UNITS_20}    data:\n      training_sentences: {{value: 90, from: paper §3}}\n")
    edit(clone, SIZES, "settings: {weight_std: 0.1}", "settings: {seed: 2}")
    edit(clone, SIZES, WIDE, WIDE.replace("}", f", {KNOWN}}}"))
    found = {
        e.experiment: e.config["data"]["options"]
        for e in resolve_tier(load_project(clone), "quick")
        if e.paper == "sizes"
    }
    sizes = {n: (found[n]["training_sentences"], found[n]["seed"]) for n in found if n.startswith("units")}
    assert sizes["units-10"] == (2000, 1)
    assert sizes["units-20"] == (90, 1)
    assert sizes["units-10@start=wide"] == (2000, 2)
