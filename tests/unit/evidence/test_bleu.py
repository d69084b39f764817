"""BLEU: counts held to sacrebleu's, the score of records, and what is said where sacrebleu is missing."""

import gzip
import sys

import pytest
from config_helpers import ROOT, experiments
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reprise.evaluation.bleu_counts import count_bleu
from reprise.evidence.bleu import compute_bleu, list_bleu_rows, make_signature
from reprise.evidence.load import make_replica
from reprise.evidence.numbers import list_numbers
from reprise.records.record import Outcome, make_record, read_record
from reprise.records.resolved import Resolved

metrics = pytest.importorskip("sacrebleu.metrics", reason="sacrebleu is not installed")
HYPOTHESES = ["a man in a red hat .", "two dogs run on the grass .", "a a a a", "", "the boy's ball , 3.5 metres"]
REFERENCES = ["A man in an orange hat.", "Two dogs run on grass.", "A cat sleeps.", "Nobody.", "The boy's ball, 3.5 m."]


def sample(hypotheses=HYPOTHESES, references=REFERENCES, lowercase=True):
    counts = count_bleu(hypotheses, references, lowercase)
    return {"kind": "translations", "split": "test", "texts": list(hypotheses), **counts}


@pytest.mark.parametrize("lowercase", [True, False])
def test_the_score_is_that_of_sacrebleu_on_the_texts_or_on_some_of_them(lowercase):
    theirs = metrics.BLEU(lowercase=lowercase)
    expected = theirs.corpus_score(HYPOTHESES, [REFERENCES])
    texts = sample(lowercase=lowercase)
    assert compute_bleu(texts) == round(expected.score, 9)
    assert compute_bleu(sample(lowercase=not lowercase)) != pytest.approx(compute_bleu(texts), abs=1)
    assert [sum(texts[f"matches_{n}"]) for n in (1, 2, 3, 4)] == expected.counts
    assert make_signature(texts) == str(theirs.get_signature())
    some = [[text[i] for i in (0, 1, 4)] for text in (HYPOTHESES, REFERENCES)]
    assert compute_bleu(texts, [0, 1, 4]) == compute_bleu(sample(*some, lowercase)) > compute_bleu(texts)


WORDS = st.lists(st.sampled_from(["a", "dog", "runs", ".", "the", "3.5", "l'"]), max_size=9).map(" ".join)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of a busy machine
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_any_texts_give_the_score_of_sacrebleu(pairs):
    hypotheses, references = zip(*pairs, strict=True)
    expected = metrics.BLEU(force=True).corpus_score(hypotheses, [references]).score
    assert compute_bleu(sample(hypotheses, references, lowercase=False)) == round(expected, 9)


def record(samples):
    resolved = Resolved("p", "e", "quick", "t", 1, {"x": 1}, {}, None)
    run = {"engine": "hand", "device": "cpu", "wall_seconds": 1.0}
    return make_record(resolved, 0, Outcome([], [], samples), 5, None, run)


def test_a_record_has_the_score_with_its_signature():
    made = record([sample(), {"kind": "example", "text": "a"}])
    (row,) = list_numbers(made)
    version = sys.modules["sacrebleu"].__version__
    signed = f"BLEU|nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:{version}"
    assert row == {"split": "test", "metric": "bleu", "value": compute_bleu(sample()), "unit": signed, "n": 5}
    assert make_replica(made).metrics["bleu", "test"] == compute_bleu(sample())


def test_where_sacrebleu_is_missing_it_is_named(monkeypatch):
    made = record([sample()])
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ModuleNotFoundError, match="sacrebleu"):
        list(list_bleu_rows(made))
    assert list(list_bleu_rows({**made, "samples": []})) == list(list_bleu_rows({**made, "status": "diverged"})) == []


@pytest.mark.slow
def test_committed_scores_are_those_of_sacrebleu_on_the_raw_references(mirror):
    """The records hold counts and no references: here their translations meet the text itself."""
    text = mirror / "multi30k" / "test_2016_flickr.en.gz"
    if not text.is_file():
        pytest.skip(f"{text} is not there")
    references = gzip.decompress(text.read_bytes()).decode().splitlines()
    every = [one for tier in ("reduced", "paper") for one in experiments(tier) if not one.is_check]
    translators = [one for one in every if one.config["data"]["dataset"] == "multi30k"]
    paths = [(one, ROOT / path) for one in translators for path in one.list_record_paths() if (ROOT / path).is_file()]
    assert paths
    for experiment, path in paths:
        record = read_record(path, experiment)
        (row,) = list_bleu_rows(record)
        texts = next(s["texts"] for s in record["samples"] if s["kind"] == "translations")
        theirs = metrics.BLEU(lowercase=True, force=True).corpus_score(texts, [references])
        assert row["value"] == pytest.approx(theirs.score, abs=1e-9), path
