"""YAML's traps are errors that name file, line, key and remedy."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reprise.config.strict_yaml import load_yaml
from reprise.errors import UserError

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["libyaml", "PyYAML alone"], autouse=True)
def parser(request, monkeypatch):
    """Some builds of PyYAML have no libyaml."""
    if request.param == "libyaml" and not yaml.__with_libyaml__:
        pytest.skip("this PyYAML was built without libyaml")
    monkeypatch.setattr(yaml, "__with_libyaml__", request.param == "libyaml")


def load(tmp_path, text):
    path = tmp_path / "some.yaml"
    path.write_text(text, encoding="utf-8")
    return load_yaml(path)


def test_plain_values_have_their_types(tmp_path):
    text = "a: 1\nb: 0.001\nc: 1.0e-3\nd: true\ne: it's [x]\nf: '1e-3'\ng: null\nh: [1, x]\ni: >-\n  one\n  two: 3\n"
    expected = {"a": 1, "b": 0.001, "c": 0.001, "d": True, "e": "it's [x]", "f": "1e-3", "g": None, "h": [1, "x"]}
    assert load(tmp_path, text) == {**expected, "i": "one two: 3"}
    assert load(tmp_path, "") is None


@pytest.mark.parametrize(
    "make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path), lambda path: path.symlink_to("nowhere")]
)
def test_what_is_no_file_is_not_read(tmp_path, make):
    """A pipe would be waited for."""
    make(tmp_path / "some.yaml")
    with pytest.raises(UserError, match=r"some\.yaml: (is not a regular file|the link)"):
        load_yaml(tmp_path / "some.yaml")


def test_an_alias_is_a_copy_of_its_own(tmp_path):
    content = load(tmp_path, "a: &x {b: [1]}\nc: *x\n")
    content["c"]["b"].append(2)
    assert content == {"a": {"b": [1]}, "c": {"b": [1, 2]}}


@pytest.mark.parametrize(
    ("text", "line", "key", "remedy"),
    [
        ("a:\n  rate: 1e-3\n", 2, "a.rate", "write 1.0e-3"),
        ("a: -.5E3\n", 1, "a", "write -0.5e+3"),
        ("a: 1e400\n", 1, "a", "write 1.0e+400"),
        ("a:\n  b: 1\n  b: 2\n", 3, "a.b", "twice"),
        ("a: 010\n", 1, "a", "decimal"),
        ("a: 1:30\n", 1, "a", "decimal"),
        ("a: 1:30.5\n", 1, "a", "decimal"),
        (f"a: 1{'0' * 5000}\n", 1, "a", "not a number that can be read"),
        ("a: 0x_\n", 1, "a", "not a number that can be read"),
        ("a: no\n", 1, "a", "true or false"),
        ('a:\n  b: "x\\0"\n', 2, "a.b", "control character"),
        ('"a\\e": 1\n', 1, "", "control character"),
        ("a: 1\nb: \x1b\n", 2, "", "control character"),
        ("a: 2026-11-21\n", 1, "a", "quotes"),
        ("a: [1, {b: 2e5}]\n", 1, "a[1].b", "write 2.0e+5"),
        ("a: [1\n", 2, "", "correct"),
        ("a: ours: b\n", 1, "", "(a value with a colon needs quotes"),
        ("a: {from: ours: b}\n", 1, "", "(a value with a colon needs quotes"),
        ("a: @b\n", 1, "", "(a value that begins with this character needs quotes)"),
        ("a:\n\tb: 1\n", 2, "", "(indent with blanks)"),
        ("a: {<<: 1}\n", 1, "a", "merge"),
        ("a: {[b]: 1}\n", 1, "a", "plain words"),
        ("a:\n  ? \n  : 1\n", 2, "a", "plain words"),
        ("a: {!!str b: 1}\n", 1, "a", "plain words"),
        ("a: !!python/object/apply:os.system ['true']\n", 1, "a", "tag"),
        ("a:\n  b: !!int '1'\n", 2, "a.b", "tag"),
        ("a: 1\n---\nb: 2\n", 2, "(top)", "second document"),
        ("a: 1\nb: *c\n", 2, "b", "before it"),
        ("a: &again [*again]\n", 1, "a[0]", "before it"),
    ],
)
def test_each_trap_is_one_line(tmp_path, text, line, key, remedy):
    with pytest.raises(UserError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    assert f"some.yaml:{line}" in message
    assert key in message
    assert remedy in message


def test_a_file_in_another_encoding_names_its_line(tmp_path):
    (tmp_path / "some.yaml").write_bytes("a: 1\nb: café\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"some\.yaml:2: .*UTF-8"):
        load_yaml(tmp_path / "some.yaml")


def grown(levels: int, width: int) -> str:
    """Lists of `width` aliases of the list before: width ** levels values."""
    lines = (f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]\n" for i in range(1, levels))
    return f"a0: &a0 [{', '.join('x' * width)}]\n" + "".join(lines)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (grown(60, 3), "values"),
        ("".join(f"k{i}: x\n" for i in range(60_000)), "values"),
        ("".join(f"a{i}: &a{i} {{b: *a{i - 1}}}\n" if i else "a0: &a0 1\n" for i in range(3000)), "values"),
        ("[" * 100_000, "levels"),
        ("{a: " * 100_000, "levels"),
        ("- " * 100_000 + "x", "levels"),
    ],
)
def test_what_grows_or_is_nested_beyond_measure_is_one_line_at_once(tmp_path, text, remedy):
    began = time.process_time()
    with pytest.raises(UserError, match=rf"some\.yaml:\d+: key .*: .*{remedy}") as caught:
        load(tmp_path, text)
    assert len(str(caught.value)) < 300
    assert time.process_time() - began < 20


def test_aliases_that_grow_a_little_are_read(tmp_path):
    content = load(tmp_path, grown(4, 5))
    assert sum(len(c) for b in content["a3"] for c in b) == 5**3


PIECES = [*"[]{}'\"=@\t\0é", "a", "b: ", "- ", "\n", "\n  ", "\n    ", ", ", "&x ", "*x", "&y ", "*y", "!!int ", "1e-3"]
PIECES += ["1.0", "010", "no", "~", "---\n", "...", "? ", "|\n", ">-\n", "#c\n", "%YAML 1.1\n", "<<: ", "\u2028"]


def leaves(content: object) -> list[object]:
    """Return the values of a tree in their order; keys are texts here, which PyYAML may read as numbers."""
    if isinstance(content, dict | list):
        return [
            leaf for value in (content.values() if isinstance(content, dict) else content) for leaf in leaves(value)
        ]
    return [content]


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None, suppress_health_check=list(HealthCheck))
@example(text="|\n\n  \t")
@given(text=st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=60))
def test_any_text_is_refused_in_one_line_or_read_as_pyyaml_reads_it(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    refused, content = "", None
    try:
        content = load_yaml(path)
    except UserError as error:
        refused = str(error)
    if refused:
        assert refused.startswith(str(path))
        return
    # PyYAML refuses an anchor that stands twice, which YAML allows; libyaml a tab in a block of blank lines.
    with suppress(yaml.composer.ComposerError):
        try:
            expected = yaml.load(text, yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)
        except yaml.scanner.ScannerError:
            expected = yaml.load(text, yaml.SafeLoader)
        assert repr(leaves(content)) == repr(leaves(expected))


def test_our_configuration_is_read_as_pyyaml_reads_it():
    for path in sorted((ROOT / "config").rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        assert load_yaml(path) == yaml.safe_load(text)
