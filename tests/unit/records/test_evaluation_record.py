"""Evaluation records: what is written is read again, and a bad file is one line with its key."""

import json

import pytest
from evaluation_helpers import ONE, evaluation, place

from reprise.errors import UserError
from reprise.records.content import compute_digest
from reprise.records.evaluation import BAND_STARTS, BANDS, RESULT_KEYS, read_evaluation, read_evaluations


def test_an_evaluation_is_read_as_it_was_written_and_without_its_record_too(tmp_path):
    for one in (evaluation(), evaluation(replica=2, recorded=False)):
        assert read_evaluation(place(tmp_path, one), ONE, one["replica"]) == one
    assert [one["replica"] for one in read_evaluations(ONE, tmp_path)] == [0, 2]


def test_a_difference_is_a_share_of_the_recorded_number():
    (metric,) = evaluation(relative=0.25)["metrics"]
    assert metric["relative_difference"] == pytest.approx(0.25)
    (metric,) = evaluation(recorded=False)["metrics"]
    assert (metric["recorded"], metric["relative_difference"]) == (None, None)


def test_bands_are_all_ranges_of_neighbours():
    assert BANDS["0"] == range(1)
    assert [BAND_STARTS[number] for number in BANDS["0-99"]] == [0, 1, 10]
    assert [BAND_STARTS[number] for number in BANDS["1000-"]] == [1000, 10_000]
    assert len(BANDS) == len(BAND_STARTS) * (len(BAND_STARTS) + 1) // 2


BAD = {
    "metrics[0].value": lambda e: e["metrics"][0].update(value="4"),
    "metrics[0].recorded": lambda e: e["metrics"][0].pop("recorded"),
    "metrics": lambda e: e["metrics"].append(dict(e["metrics"][0])),
    "losses_by_count[0].least": lambda e: e["losses_by_count"][0].update(least=7),
    "losses_by_count[0].side": lambda e: e["losses_by_count"][0].update(side="written"),
    "losses_by_count": lambda e: e["losses_by_count"].append(dict(e["losses_by_count"][0])),
    "weights.sha256": lambda e: e["weights"].update(sha256="x"),
    "schema": lambda e: e.update(schema=2),
    "experiment": lambda e: e.update(experiment="a/../b"),
    "run.device": lambda e: e["run"].pop("device"),
    "trained.engine": lambda e: e["trained"].update(engine="magic"),
    "remark": lambda e: e.update(remark="x"),
}


@pytest.mark.parametrize("key", BAD)
def test_a_key_that_evaluation_never_writes_is_one_line(tmp_path, key):
    content = evaluation()
    BAD[key](content)
    path = place(
        tmp_path, content | {"result_sha256": compute_digest(content, RESULT_KEYS), "config_hash": ONE.config_hash}
    )
    with pytest.raises(UserError) as caught:
        read_evaluation(path, ONE, 0)
    message = str(caught.value)
    assert message.startswith(f"{path}: key {key}: ")
    assert message.count("\n") == 0
    assert "reprise evaluate" in message


def test_a_damaged_altered_or_foreign_file_is_one_line(tmp_path):
    path = place(tmp_path, evaluation())
    original = path.read_bytes()
    record = json.loads(original)
    record["losses_by_count"][0]["value"] = 1.0
    foreign = evaluation(replica=1)
    contents = [original[:-9], b"{}", b"[", b"\xff", json.dumps(record).encode(), json.dumps(foreign).encode()]
    contents.append(original.replace(b'"n": 3', b'"n": 3, "n": 4'))
    for content in contents:
        path.write_bytes(content)
        with pytest.raises(UserError) as caught:
            read_evaluations(ONE, tmp_path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(UserError, match="no such record"):
        read_evaluation(path)
