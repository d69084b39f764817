"""Claims and printed numbers in a paper's file: what is of one piece, and one line for what is not."""

from __future__ import annotations

import re

import pytest
from config_helpers import TOY, copy_config, mistake

from reprise.cli.schemas import schemas
from reprise.config.claim_checks import STATISTICS
from reprise.config.claims import Claim
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier

D1 = """\
    kind: superiority
    metric: last_ten_accuracy
    split: train
    compare: {lower: rnn-t5, higher: lstm-t5}
"""
REACH = "    metric: accuracy\n    split: train\n    share: {experiments: [rnn-t5], reaches: 1.0"
WHY = 'from: "ours: small"'


@pytest.fixture
def clone(tmp_path):
    return copy_config(tmp_path, TOY)


def write(clone, claim: str, **others: str) -> None:
    """Puts another statistic in the place of claim D1's, or appends to the file."""
    path = clone / "config/papers/digits.yaml"
    text = path.read_text(encoding="utf-8")
    assert D1 in text
    path.write_text(text.replace(D1, claim) + others.get("more", ""), encoding="utf-8")


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


@pytest.mark.parametrize(
    ("statistic", "words"),
    [
        (f"    kind: threshold\n{REACH}}}\n", "claims.D1.share: takes one of at_least and at_most"),
        (f"    kind: threshold\n{REACH}, at_least: 0.5, at_most: 0.6}}\n", "takes one of at_least and at_most"),
        (
            "    kind: threshold\n    metric: n\n    split: train\n"
            "    level: {experiments: [rnn-t5], at_least: 2, equals: 3}\n",
            "claims.D1.level: takes at_least, at_most or both, or equals alone",
        ),
        (
            "    kind: threshold\n    metric: n\n    split: train\n"
            "    level: {experiments: [rnn-t5], at_least: 2, at_most: 1}\n",
            "claims.D1.level: nothing is at least 2.0 and at most 1.0",
        ),
        (
            "    kind: equivalence\n    metric: n\n    split: train\n"
            "    optimum: [[rnn-t5, lstm-t5], [rnn-t5, lstm-t5, rnn-t5]]\n"
            f"    margin: {{value: 0.1, is: relative, {WHY}}}\n",
            "claims.D1.optimum: every sweep has as many places as the others",
        ),
        (f"    kind: threshold\n{REACH}, at_least: 1.0}}\n", "claims.D1.share: the bound is a share between 0 and 1"),
        ("    kind: descriptive\n", "claims.D1.reason: missing"),
        ("    kind: superiority\n", "decided by one of compare, gaps, not by none"),
        (
            D1 + f"    margin: {{value: 0.1, is: relative, {WHY.replace('ours: small', 'deviation x')}}}\n",
            "no deviation 'x'",
        ),
        (D1 + "    margin: {value: 0.1, is: relative}\n", "claims.D1.margin.from: missing"),
        (D1 + f"    margin: {{value: 0, is: relative, {WHY}}}\n", "claims.D1.margin.value"),
        (D1 + f"    margin: {{value: .inf, is: relative, {WHY}}}\n", "margin.value: input should be a finite number"),
        (f"    kind: threshold\n{REACH}, at_most: .nan}}\n", "D1.share.at_most: input should be a finite number"),
        (
            "    kind: threshold\n    metric: n\n    split: train\n"
            "    level: {experiments: [rnn-t5], at_least: -.inf}\n",
            "D1.level.at_least: input should be a finite number, not -inf; mend the value",
        ),
    ],
)
def test_a_statistic_that_decides_nothing_is_refused(clone, statistic, words):
    write(clone, statistic)
    assert words in mistake(clone)


@pytest.mark.parametrize(
    ("statistic", "says"),
    [
        ("compare: [{lower: rnn-t5, higher: lstm-t5}, {lower: rnn-t5}]", "compare.1.higher: missing; add it"),
        ("compare: {lower: rnn-t5, higher: {experiment: a, split: 3}}", "compare.higher.split: input should be"),
        ("compare: [{lower: rnn-t5, highr: lstm-t5}]", "compare.0.highr: unknown key; did you mean 'higher'?"),
        ("order: [a, [b, {experiment: c, splt: d}]]", "order.1.1.splt: unknown key; did you mean 'split'?"),
        ("gaps: [{lower: a, higher: b}, {lower: a, higher: B}]", "gaps.1.higher: 'B' is no name of an experiment"),
        (f"compare: [{'{lower: a}, ' * 300}]", "compare.0.higher: missing; add it (and 299 more)"),
        (
            "compare: [{lower: rnn-t5, higher: lstm-t5}, {lower: rnn, higher: a}]",
            "compare.1.lower: no experiment 'rnn'",
        ),
        ("compare: {lower: a, higher: 3}", "compare.higher: 3 should be a word or a mapping; write it so"),
        ("order: [a, 3]", "order.1: 3 should be a word, a mapping or a list; write it so"),
        ("order: [a, []]", "order.1: list should have at least 1 item, not 0; mend the value"),
        ("order: [[], []]", "order.0: list should have at least 1 item, not 0; mend the value (and 1 more)"),
        ("order: [rnn-t5]", "order: list should have at least 2 items, not 1; mend the value"),
    ],
)
def test_a_mistake_inside_a_list_is_named_where_it_stands(clone, statistic, says):
    write(clone, D1.replace("compare: {lower: rnn-t5, higher: lstm-t5}", statistic))
    message = mistake(clone)
    assert f"digits.yaml: key claims.D1.{says}" in message
    assert len(message) < 300


MARGIN = "    margin: {{value: {}, is: {}, from: 'ours: small'}}\n"
SELF = "compares 'rnn-t5' with itself; name two"


@pytest.mark.parametrize(
    ("statistic", "says"),
    [
        ("kind: superiority\n    compare: {lower: rnn-t5, higher: rnn-t5}", f"compare: {SELF}"),
        (
            "kind: superiority\n    compare: [{lower: rnn-t5, higher: {experiment: rnn-t5, split: train}}]",
            f"compare.0: {SELF}",
        ),
        (
            "kind: ordering\n    gaps: [{lower: rnn-t5, higher: lstm-t5}, {lower: rnn-t5, higher: lstm-t5}]",
            "gaps: compares a difference with itself; name two",
        ),
        (
            "kind: ordering\n    gaps: [{lower: rnn-t5, higher: lstm-t5}, {lower: rnn-t5, higher: rnn-t5}]",
            f"gaps.1: {SELF}",
        ),
        ("kind: ordering\n    order: [rnn-t5, [lstm-t5, rnn-t5]]", f"order: {SELF}"),
        ("kind: equivalence\n    equal: [[rnn-t5, rnn-t5]]\n" + MARGIN.format(0.1, "relative"), f"equal.0: {SELF}"),
        (
            "kind: equivalence\n    optimum: [[lstm-t5, rnn-t5], [rnn-t5, rnn-t5]]\n" + MARGIN.format(0.1, "relative"),
            f"optimum.1: {SELF}",
        ),
        (
            "kind: threshold\n    share: {experiments: [rnn-t5, rnn-t5], reaches: 1.0, at_least: 0.5}",
            "share.experiments.1: 'rnn-t5' stands twice; keep one of the two",
        ),
        (
            "kind: threshold\n    share: {experiments: [rnn-t5], reaches: -1.0, at_least: 0.5}",
            "share.reaches: no accuracy separates runs at -1; write a share above 0",
        ),
        (
            "kind: threshold\n    share: {experiments: [rnn-t5], reaches: 1.0e+300, at_least: 0.5}",
            "share.reaches: no accuracy separates runs at 1e+300",
        ),
        (
            f"kind: threshold\n    level: {{experiments: [rnn-t5], equals: 1{'0' * 400}}}",
            "level.equals: input should be less than or equal to 9007199254740992, not 1000",
        ),
        (
            "kind: superiority\n    compare: {lower: rnn-t5, higher: lstm-t5}\n" + MARGIN.format(5, "relative"),
            "5 is 500 %",
        ),
        (
            "kind: superiority\n    compare: {lower: rnn-t5, higher: lstm-t5}\n"
            + MARGIN.format("1.0e+308", "absolute"),
            "margin.value: input should be less than or equal to 1000000000, not 1e+308",
        ),
    ],
)
def test_a_statistic_of_one_experiment_with_itself_or_beyond_all_bounds_is_refused(clone, statistic, says):
    write(clone, f"    metric: accuracy\n    split: train\n    {statistic}\n")
    message = mistake(clone)
    assert "digits.yaml: key claims.D1." in message
    assert says in message


def test_an_experiment_may_be_compared_with_its_own_other_split(clone):
    write(clone, D1.replace("higher: lstm-t5", "higher: {experiment: rnn-t5, split: test}"))
    resolve_tier(load_project(clone))


ENTRY = """\
arithmetic:
  total:
    text: A total
    place: §1
    formula: {formula}
    values: {values}
    {rest}
"""


@pytest.mark.parametrize(
    ("formula", "values", "rest", "words"),
    [
        ("a + b", "{a: 1}", 'printed: "3"', "arithmetic.total.formula: 'b' has no value"),
        ("a", "{a: 1, b: 2}", 'printed: "3"', "arithmetic.total.values.b: no formula uses it"),
        ("a / (a - 1)", "{a: 1}", 'printed: "3"', "arithmetic.total.formula: division by zero"),
        ("a.real", "{a: 1}", 'printed: "3"', "is not arithmetic"),
        ("exp((a - 9) ** 0.5)", "{a: 1}", 'printed: "3"', "arithmetic.total.formula: a negative number has no real"),
        ("a - 1", "{a: 1}", 'printed: "0"', "arithmetic.total.printed: nothing is off from 0 by a share of it"),
        ("a", "{a: 1}", 'equals: "a - a"', "arithmetic.total.equals: nothing is off from 0 by a share of it"),
        ("a", "{a: 1}", 'printed: "about 3"', "arithmetic.total.printed: 'about 3' is no number"),
        ("a", f"{{a: 1{'0' * 400}}}", 'printed: "3"', "formula: int too large to convert to float; mend the formula"),
        ("a", "{a: .nan}", 'printed: "3"', "arithmetic.total.values.a: input should be a finite number"),
        ("a", "{a: 1}", 'printed: "3"\n    equals: a', "takes one of printed and equals"),
        ("a", "{a: 1}", "equals: a +", "arithmetic.total.equals: 'a +' is not a formula"),
        ("a", "{a: 1}", 'printed: "1"\n    experiment: rnn', "arithmetic.total.experiment: no experiment 'rnn'"),
    ],
)
def test_a_printed_number_without_a_sound_formula_is_refused(clone, formula, values, rest, words):
    write(clone, D1, more=ENTRY.format(formula=formula, values=values, rest=rest))
    assert words in mistake(clone)


def test_errata_are_read_with_their_source(clone):
    path = clone / "config/papers/digits.yaml"
    written = path.read_text(encoding="utf-8")
    entry = "errata:\n  - {place: §1, says: It is five., right: It is six., source: counted}\n"
    path.write_text(written + entry, encoding="utf-8")
    (found,) = load_project(clone).papers["digits"].errata
    assert (found.place, found.right) == ("§1", "It is six.")
    path.write_text(written + entry.replace(", source: counted", ""), encoding="utf-8")
    assert "errata.0.source: missing; add it" in mistake(clone)


def test_an_old_claim_is_still_one():
    claim = Claim.model_validate({"text": "It holds.", "place": "§1", "checks": ["identity"]})
    assert (claim.kind, claim.comparisons, list(claim.sides())) == (None, [], [])


def test_editors_are_told_of_every_statistic():
    for statistic in {name for names in STATISTICS.values() for name in names}:
        assert f'"{statistic}": {{' in schemas()["paper"]
