"""Claims in a paper's file: what is of one piece, and one line for what is not."""

from __future__ import annotations

import re

import pytest
from config_helpers import TOY, copy_config, mistake
from digits_helpers import D1, REACH, WHY, write

from reprise.cli.schemas import schemas
from reprise.config.claim_checks import STATISTICS
from reprise.config.claims import Claim
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier


@pytest.fixture
def clone(tmp_path):
    return copy_config(tmp_path, TOY)


@pytest.mark.parametrize(
    "statistic",
    [
        D1,
        "    reason: Nobody can say.\n",
        "    kind: descriptive\n    reason: Nobody can say.\n",
        f"    kind: threshold\n{REACH}, at_least: 0.5}}\n",
        "    kind: threshold\n    metric: n\n    split: train\n    level: {experiments: [rnn-t5], at_most: 3.5}\n",
        "    kind: threshold\n    metric: n\n    split: train\n    level: {experiments: [rnn-t5], equals: 3}\n",
        "    kind: threshold\n    metric: n\n    split: train\n"
        "    level: {experiments: [rnn-t5], at_least: 3, at_most: 4}\n",
        "    kind: equivalence\n    metric: n\n    split: train\n    optimum: [[rnn-t5, lstm-t5], [lstm-t5, rnn-t5]]\n"
        f"    margin: {{value: 0.1, is: relative, {WHY}}}\n",
        "    kind: threshold\n    metric: n\n"
        "    level: {experiments: [{experiment: rnn-t5, split: a}, {experiment: rnn-t5, split: b}], at_least: 3}\n",
        f"    kind: equivalence\n    metric: n\n    split: train\n    equal: [[rnn-t5, lstm-t5]]\n"
        f"    margin: {{value: 0.1, is: relative, {WHY}}}\n",
        "    kind: ordering\n    split: train\n"
        "    order: [[{experiment: rnn-t5, metric: n}], {experiment: lstm-t5, metric: m}]\n",
        "    kind: ordering\n    metric: n\n    split: train\n"
        "    gaps: [{lower: rnn-t5, higher: lstm-t5}, {lower: lstm-t5, higher: rnn-t5}]\n",
        "    kind: identity\n    checks: [count]\n    corrections: [count]\n    contradicted_by: The next page.\n",
        "    kind: unit\n    metric: n\n    split: train\n    unit: {stated: bits/character, other: nats/character, "
        "experiments: [rnn-t5], reference: lstm-t5}\n",
        "    checks: [count]\n",
        "",
    ],
)
def test_a_claim_of_one_piece_is_read(clone, statistic):
    write(clone, statistic)
    resolve_tier(load_project(clone))


@pytest.mark.parametrize(
    ("old", "new", "key", "remedy"),
    [
        ("lower: rnn-t5", "lower: rnn-t50", "claims.D1.compare.lower", "did you mean 'rnn-t5'?"),
        ("lower: rnn-t5", "lower: rnn-t5@weight-law=other", "claims.D1.compare.lower", "known are|did you mean"),
        ("lower: rnn-t5", "lower: count", "claims.D1.compare.lower", "name a trained experiment"),
        ("lower: rnn-t5", "lowest: rnn-t5", "claims.D1.compare", "missing; add it|unknown key"),
        ("    metric: last_ten_accuracy\n", "", "claims.D1.metric", "say which metric"),
        ("    split: train\n", "", "claims.D1.split", "say which split"),
        ("kind: superiority", "kind: superior", "claims.D1.kind", "write one of 'superiority'"),
        ("kind: superiority", "kind: ordering", "claims.D1.kind", "order, gaps, not by compare"),
        ("    kind: superiority\n", "", "claims.D1.kind", "add one that takes 'compare'"),
        (
            "    kind: superiority\n",
            "    kind: superiority\n    reason: No.\n",
            "claims.D1.reason",
            "keep one of the two",
        ),
        ("kind: superiority", "kind: non-inferiority", "claims.D1.margin", "what difference still counts as none"),
        ("checks: [count]", "checks: [cuont]", "claims.D2.checks", "did you mean 'count'?"),
        ("checks: [count]", "checks: [rnn-t5]", "claims.D2.checks", "'rnn-t5' is no check"),
        ("checks: [count]", "checks: [count]\n    margin: 0.1", "claims.D2.margin", "mapping"),
        (
            "checks: [count]",
            f"checks: [count]\n    margin: {{value: 0.1, is: absolute, {WHY}}}",
            "claims.D2.margin",
            "remove it",
        ),
    ],
)
def test_a_mistake_in_a_claim_is_one_line_with_file_key_and_remedy(clone, old, new, key, remedy):
    path = clone / "config/papers/digits.yaml"
    head, _, tail = path.read_text(encoding="utf-8").partition("\nclaims:\n")
    assert old in tail
    path.write_text(f"{head}\nclaims:\n{tail.replace(old, new, 1)}", encoding="utf-8")
    message = mistake(clone)
    assert "digits.yaml" in message
    assert key in message
    assert re.search(remedy, message)


def test_an_old_claim_is_still_one():
    claim = Claim.model_validate({"text": "It holds.", "place": "§1", "checks": ["identity"]})
    assert (claim.kind, claim.comparisons, list(claim.sides())) == (None, [], [])


def test_editors_are_told_of_every_statistic():
    for statistic in {name for names in STATISTICS.values() for name in names}:
        assert f'"{statistic}": {{' in schemas()["paper"]
