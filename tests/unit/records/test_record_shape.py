"""Run records of another shape than training writes: one line with the key, whoever made their digest."""

import json
import random

import pytest
from project import ROOT, flipped

from reprise.errors import UserError
from reprise.records.record import (
    RESULT_KEYS,
    Outcome,
    curve,
    make_record,
    metric,
    parse_record,
    read_record,
    result_digest,
)
from reprise.records.resolved import Resolved

ONE = Resolved("p", "e", "quick", "t", 1, {"x": 1}, {}, None)
RUN = {"engine": "reference", "device": "cpu", "wall_seconds": 1.5}


def translations(**changes):
    counts = {f"matches_{n}": [0] for n in range(1, 5)} | {"hypothesis_words": [1], "reference_words": [1]}
    how = {"kind": "translations", "split": "test", "lowercase": False, "tokenisation": "13a"}
    return {**how, "texts": ["a"], **counts, **changes}


def altered(change):
    """A record that was changed together with its digest, as bytes."""
    curves = [curve("valid", "cross_entropy", "nats/token", "epoch", [1, 2], [2.0, 1.0])]
    outcome = Outcome([metric("test", "cross_entropy", 1.0, "nats/token", 10)], curves, [{"step": 3, "text": "é|a"}])
    record = make_record(ONE, 0, outcome, 7, None, dict(RUN))
    change(record)
    return json.dumps(record | {"result_sha256": result_digest(record)}).encode()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda r: r["metrics"][0].update(value=True), "key metrics[0].value: true, not a number"),
        (lambda r: r["metrics"][0].update(value=10**400), f"key metrics[0].value: 1{'0' * 39}…, too large"),
        (lambda r: r["metrics"][0].pop("metric"), "key metrics[0].metric: missing"),
        (lambda r: r["metrics"].append(1), "key metrics[1]: 1, not an object"),
        (lambda r: r.update(curves=None), "key curves: null, not a list"),
        (lambda r: r["curves"][0]["x"].pop(), "key curves[0].x: 1 values, and 2 in y"),
        (lambda r: r["curves"][0].update(y=[1.0, "2"]), 'key curves[0].y[1]: "2", not a number'),
        (lambda r: r["samples"][0].update(text="\ud800"), "not a whole run record"),
        (lambda r: r["samples"].append({"kind": "translations"}), "key samples[1].split: missing"),
        (
            lambda r: r["samples"].append(translations(matches_4=[])),
            "key samples[1].matches_4: 0 values, and 1 in texts",
        ),
        (lambda r: r["samples"].append(translations(lowercase=0)), "key samples[1].lowercase: 0, not true or false"),
        (lambda r: r.update(fold=[0]), "key fold: [0], not a whole number or a text or null"),
        (lambda r: r.update(schema=99), "key schema: 99, and this version of Reprise reads 1"),
        (lambda r: r.update(status="zzz"), 'key status: "zzz", not "finished", as the key diverged says'),
        (lambda r: r.update(diverged={"step": 1}), 'key status: "finished", not "diverged", as the key diverged says'),
        (lambda r: r["run"].pop("device"), "key run.device: missing"),
        (lambda r: r["run"].update(wall_seconds=-5), "key run.wall_seconds: -5, below 0"),
        (lambda r: r["run"].update(wall_seconds=float("nan")), "not a whole run record"),
    ],
)
def test_a_record_of_another_shape_is_one_line_with_its_key(change, says):
    with pytest.raises(UserError) as caught:
        parse_record(altered(change), "0.json", ONE, 0)
    remedy = "`git checkout` it if it is committed, else remove it, and run the pipeline again"
    assert str(caught.value) == f"0.json: {says}; {remedy}"


def test_a_record_of_letters_beyond_the_first_plane_is_sound():
    content = altered(lambda r: r["samples"].append(translations(texts=["😀"])))
    assert b"ud83d" in content
    assert parse_record(content, "0.json", ONE)["samples"][1]["texts"] == ["😀"]


def test_no_bit_and_no_end_of_a_record_matters_unseen():
    """A record with a bit changed is refused in one line, or its result is what it was: the bit was in the key run."""
    data = altered(lambda record: None)
    whole, refusals, draw = parse_record(data, "0.json"), [], random.Random(2)
    bits = draw.sample(range(8 * len(data)), 1500)
    for bit in bits:
        try:
            found = parse_record(flipped(data, bit), "0.json")
        except UserError as error:
            refusals.append(str(error))
        else:
            assert {k: found[k] for k in RESULT_KEYS} == {k: whole[k] for k in RESULT_KEYS}
    assert all(line.startswith("0.json: ") and "\n" not in line for line in refusals)
    assert len(refusals) > len(bits) / 2
    for end in draw.sample(range(len(data) - 1), 300):
        with pytest.raises(UserError, match="not a whole run record"):
            parse_record(data[:end], "0.json")


@pytest.mark.parametrize("content", [b"[]", b"\xff", b"[" * 200_000])
def test_what_is_no_object_is_one_line(content):
    with pytest.raises(UserError, match=r"^0.json: not a whole run record; "):
        parse_record(content, "0.json")


def test_the_records_that_are_committed_have_the_shape():
    paths = sorted((ROOT / "results").glob("*/runs/**/*.json"))
    assert len(paths) > 1000
    for path in paths:
        read_record(path)
