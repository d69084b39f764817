"""Statistics of claims that decide nothing, compare a thing with itself, or ask what no number can be."""

from __future__ import annotations

import pytest
from config_helpers import TOY, copy_config, mistake
from digits_helpers import D1, REACH, WHY, write

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier


@pytest.fixture
def clone(tmp_path):
    return copy_config(tmp_path, TOY)


@pytest.mark.parametrize(
    ("statistic", "words"),
    [
        (f"    kind: threshold\n{REACH}}}\n", "claims.D1.share: write one of at_least, at_most and any"),
        (f"    kind: threshold\n{REACH}, at_least: 0.5, at_most: 0.6}}\n", "write one of at_least, at_most and any"),
        (
            "    kind: threshold\n    metric: n\n    split: train\n"
            "    level: {experiments: [rnn-t5], at_least: 2, equals: 3}\n",
            "claims.D1.level: write at_least, at_most or both, or equals alone",
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
            "claims.D1.optimum: every sweep takes as many places as the others",
        ),
        (f"    kind: threshold\n{REACH}, at_least: 1.0}}\n", "claims.D1.share: write a bound between 0 and 1"),
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
            "D1.level.at_least: input should be a finite number, not -inf; correct the value",
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
        ("compare: {lower: rnn-t5, higher: {experiment: a, split: 3}}", "compare.higher.split: 3 should be a word"),
        ("compare: [{lower: rnn-t5, highr: lstm-t5}]", "compare.0.highr: unknown key; did you mean 'higher'?"),
        ("order: [a, [b, {experiment: c, splt: d}]]", "order.1.1.splt: unknown key; did you mean 'split'?"),
        ("gaps: [{lower: a, higher: b}, {lower: a, higher: B}]", "gaps.1.higher: 'B' is no name of an experiment"),
        (f"compare: [{'{lower: a}, ' * 300}]", "compare.0.higher: missing; add it (and 299 more)"),
        (
            "compare: [{lower: rnn-t5, higher: lstm-t5}, {lower: rnn, higher: a}]",
            "compare.1.lower: no experiment 'rnn'",
        ),
        ("compare: {lower: a, higher: 3}", "compare.higher: 3 should be a word or a mapping; correct it"),
        ("order: [a, 3]", "order.1: 3 should be a word, a mapping or a list; correct it"),
        ("order: [a, []]", "order.1: "),
        ("order: [[], []]", "order.0: "),
        ("order: [rnn-t5]", "order: list should have at least 2 items"),
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
            "share.reaches: no accuracy is at -1; write a share above 0",
        ),
        (
            "kind: threshold\n    share: {experiments: [rnn-t5], reaches: 1.0e+300, at_least: 0.5}",
            "share.reaches: no accuracy is at 1e+300",
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
