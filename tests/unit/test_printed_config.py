"""Printed numbers and errata in a paper's file: what is of one piece, and one line for what is not."""

from __future__ import annotations

import pytest
from config_helpers import TOY, copy_config, mistake
from digits_helpers import write

from reprise.config.project import load_project


@pytest.fixture
def clone(tmp_path):
    return copy_config(tmp_path, TOY)


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
    write(clone, more=ENTRY.format(formula=formula, values=values, rest=rest))
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
