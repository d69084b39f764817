"""Run records of another shape than training writes: one line with the key, whoever made their digest."""

import json
import random

import pytest
from project import ROOT, flipped

from reprise.errors import UserError
from reprise.records.model import check_record
from reprise.records.record import (
    RESULT_KEYS,
    Outcome,
    compute_result_digest,
    decode_record,
    make_curve,
    make_metric,
    make_record,
    read_record,
)
from reprise.records.resolved import Resolved

ONE = Resolved("p", "e", "quick", "t", 1, {"x": 1}, {}, None)
RUN = {"engine": "reference", "device": "cpu", "wall_seconds": 1.5}


def translations(**changes):
    counts = {f"matches_{n}": [0] for n in range(1, 5)} | {
        f"{part}_words": [1] for part in ("source", "hypothesis", "reference")
    }
    fields = {"kind": "translations", "split": "test", "lowercase": False, "tokenisation": "13a", "decoder": "greedy"}
    return {**fields, "texts": ["a"], **counts, **changes}


def parse_record(content, name, expected=None, replica=None):
    """As a record is read from a file."""
    return check_record(decode_record(content, name, expected, replica), name)


def change_record(change):
    """A record that was changed together with its digest, as bytes."""
    curves = [make_curve("valid", "cross_entropy", "nats/token", "epoch", [1, 2], [2.0, 1.0])]
    outcome = Outcome(
        [make_metric("test", "cross_entropy", 1.0, "nats/token", 10)], curves, [{"step": 3, "text": "é|a"}]
    )
    record = make_record(ONE, 0, outcome, 7, None, dict(RUN))
    change(record)
    return json.dumps(record | {"result_sha256": compute_result_digest(record)}).encode()


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda r: r["metrics"][0].update(value=True), "metrics[0].value"),
        (lambda r: r["metrics"][0].update(value=10**400), "metrics[0].value"),
        (lambda r: r["metrics"][0].pop("metric"), "metrics[0].metric"),
        (lambda r: r["metrics"][0].update(metric="a\x1b[2J"), "metrics[0].metric"),
        (lambda r: r["metrics"][0].update(n=0), "metrics[0].n"),
        (lambda r: r["metrics"][0].update(n=2**63), "metrics[0].n"),
        (lambda r: r["metrics"][0].update(errors=0), "metrics[0].errors"),
        (lambda r: r["metrics"].append(1), "metrics[1]"),
        (lambda r: r["metrics"].append(r["metrics"][0] | {"n": 3}), "metrics"),
        (lambda r: r.update(curves=None), "curves"),
        (lambda r: r["curves"].append(dict(r["curves"][0])), "curves"),
        (lambda r: r["curves"][0]["x"].pop(), "curves[0]"),
        (lambda r: r["curves"][0].update(y=[1.0, "2"]), "curves[0].y[1]"),
        (lambda r: r["samples"].append({"kind": "translations"}), "samples[1].split"),
        (lambda r: r["samples"].append(translations(matches_4=[])), "samples[1]"),
        (lambda r: r["samples"].append(translations(matches_4=[-1])), "samples[1].matches_4[0]"),
        (lambda r: r["samples"].append(translations(lowercase=0)), "samples[1].lowercase"),
        (lambda r: r.update(fold=[0]), "fold"),
        (lambda r: r.update(schema=99), "schema"),
        (lambda r: r.update(parameters=-1), "parameters"),
        (lambda r: r.update(seed=7), "seed"),
        (lambda r: r.update(status="zzz"), "status"),
        (lambda r: r.update(diverged={"step": 1}), "status"),
        (lambda r: r.update(diverged={"step": 1}, status="diverged"), "metrics"),
        (lambda r: r.update(remark="x"), "remark"),
        (lambda r: r["samples"].append(translations(beam=5)), "samples[1].beam"),
        (lambda r: r["run"].pop("device"), "run.device"),
        (lambda r: r["run"].update(remark="x"), "run.remark"),
        (lambda r: r["run"].update(engine="hand; ls"), "run.engine"),
        (lambda r: r["run"].update(wall_seconds=-5), "run.wall_seconds"),
        (lambda r: r["run"].update(peak_memory_mib=[]), "run.peak_memory_mib"),
    ],
)
def test_a_record_that_training_never_writes_is_one_line_with_its_key(change, key):
    with pytest.raises(UserError) as caught:
        parse_record(change_record(change), "0.json", ONE, 0)
    line = str(caught.value)
    assert line.startswith(f"0.json: key {key}: ")
    assert line.isprintable()
    assert "run the pipeline again" in line


@pytest.mark.parametrize("paper", ["../p", "p x", ""])
def test_a_name_that_no_configuration_has_is_refused(paper):
    with pytest.raises(UserError, match=r"^0\.json: key paper: "):
        parse_record(change_record(lambda r: r.update(paper=paper)), "0.json")


@pytest.mark.parametrize("key", ["value", "metrics", "device"])
def test_a_key_that_stands_twice_in_the_file_is_refused(key):
    content = change_record(lambda r: None).replace(f'"{key}":'.encode(), f'"{key}": 0, "{key}":'.encode(), 1)
    with pytest.raises(UserError, match=f"^0.json: key '{key}' stands twice; "):
        parse_record(content, "0.json")


@pytest.mark.parametrize(
    "change", [lambda r: r["samples"][0].update(text="\ud800"), lambda r: r["run"].update(wall_seconds=float("nan"))]
)
def test_what_no_file_holds_is_no_record(change):
    with pytest.raises(UserError, match=r"^0.json: not a whole run record; "):
        parse_record(change_record(change), "0.json")


def test_reading_turns_no_number_into_another_type():
    content = change_record(lambda r: None)
    assert json.dumps(parse_record(content, "0.json")) == json.dumps(json.loads(content))


def test_a_record_of_letters_beyond_the_first_plane_is_sound():
    content = change_record(lambda r: r["samples"].append(translations(texts=["😀"])))
    assert b"ud83d" in content
    assert parse_record(content, "0.json", ONE)["samples"][1]["texts"] == ["😀"]


def test_no_bit_and_no_end_of_a_record_matters_unseen():
    """A record with a bit changed is refused in one line, or its result is what it was: the bit was in the key run."""
    data = change_record(lambda record: None)
    original, refusals, draw = parse_record(data, "0.json"), [], random.Random(2)
    bits = draw.sample(range(8 * len(data)), 1500)
    for bit in bits:
        try:
            damaged = parse_record(flipped(data, bit), "0.json")
        except UserError as error:
            refusals.append(str(error))
        else:
            assert {k: damaged[k] for k in RESULT_KEYS} == {k: original[k] for k in RESULT_KEYS}
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
