"""The originals of the books' texts: what was printed, what was logged, and what is counted in both."""

import csv
from types import SimpleNamespace

import pytest
from config_helpers import ROOT, project

from reprise.data.text.books import clean_text
from reprise.evaluation.text_measures import BookVocabulary, measure_texts
from reprise.report.papers.books import tables
from reprise.report.papers.books.tables import is_printed_as_logged


def read(name: str) -> list[dict[str, str]]:
    with (ROOT / "config/reference" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_print_is_the_log_but_for_the_bar_and_a_few_letters():
    rows, logged = read("books_samples.csv"), read("books_logged_texts.csv")
    assert [int(r["table"]) for r in rows] == [1] * 6 + [2] * 6 + [3] * 5 + [4] * 5
    assert {(r["kind"] == "start", len(r["logged"])) for r in rows} == {(True, 100), (False, 101)}
    as_logged = [is_printed_as_logged(*(r[k] for k in ("kind", "prompt", "printed", "logged"))) for r in rows]
    differences = [(int(r["table"]), r["kind"]) for r, same in zip(rows, as_logged, strict=True) if not same]
    assert differences == [(3, "hansel"), (3, "bird"), (4, "hamlet"), (4, "history")]
    assert len(logged) == 100
    assert {len(r["prompt"] + r["text"]) for r in logged} == {101}
    quoted_texts = {(r["book"], r["step"], r["logged"]) for r in rows if r["step"] == r["logged_step"] != "0"}
    log_texts = {(r["book"], r["step"], r["text"]) for r in logged}
    assert len(quoted_texts & log_texts) == 9  # five and four rows of Tables 1 and 2, step 0 and the misdated one apart


@pytest.mark.parametrize(
    ("book", "file"), [("grimm", "EN_grimms_fairy_tails"), ("quijote", "ES_cervantes_don_quijote")]
)
def test_the_originals_share_of_words_is_counted_in_its_log(mirror, book, file):
    vocabulary = BookVocabulary(clean_text((mirror / "books" / f"book_{file}.txt").read_text(encoding="utf-8")))
    logged = read("books_logged_texts.csv")
    texts = [r["prompt"] + r["text"] for r in logged if (r["book"], r["step"]) == (book, "15000")]
    (counted,) = [value for name, value, _ in measure_texts(texts, vocabulary) if name == "words_in_book"]
    reported = project().papers["books"].experiments[book].reported
    assert [r.value for r in reported if r.metric == "words_in_book"] == [round(counted, 4)]


def test_claims_about_one_book_bear_its_title(monkeypatch):
    texts = {("grimm", "a"): "agrees: U1", ("quijote", "a"): "agrees: U1", ("grimm", "b"): "agrees: U1, U2"}
    monkeypatch.setattr(
        tables.verdicts, "summarise_claims", lambda _, names, patterns: texts.get((*names, *patterns), "")
    )
    context = SimpleNamespace(get_title=str.capitalize)
    cells = [tables._summarise_claims_of_books(context, ["grimm", "quijote"], pattern) for pattern in "abc"]
    assert cells == ["agrees: U1", "agrees: U1, U2 (Grimm)", ""]
