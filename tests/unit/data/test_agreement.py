"""Minimal pairs: every kind from a small tree, what is left out, and the pairs of a real treebank."""

from __future__ import annotations

import numpy as np
import pytest
from treebank_helpers import FEM, FEM_PLUR, MASC, MASC_PLUR, read

from reprise.data.treebank import ud_french
from reprise.data.treebank.agreement import DISTANT, FEATURES, KINDS, find_pairs
from reprise.data.treebank.token_stream import make_stream

FIN, FIN_PLUR = "Number=Sing|VerbForm=Fin", "Number=Plur|VerbForm=Fin"
PART = "Tense=Past|VerbForm=Part"
FORMS = [
    f"blanc blanc ADJ {MASC}",
    f"blanche blanc ADJ {FEM}",
    f"blancs blanc ADJ {MASC_PLUR}",
    f"blanches blanc ADJ {FEM_PLUR}",
    f"maison maison NOUN {FEM}",
    f"maisons maison NOUN {FEM_PLUR}",
    f"dort dormir VERB {FIN}",
    f"dorment dormir VERB {FIN_PLUR}",
    f"est être AUX {FIN}",
    f"sont être AUX {FIN_PLUR}",
    f"vue voir VERB {FEM}|{PART}",
    f"vu voir VERB {MASC}|{PART}",
    f"vues voir VERB {FEM_PLUR}|{PART}",
]
"""Sentences of one word, without heads, in which the wrong forms are found."""
LA_MAISON = f"La le DET {FEM} 2 det\nmaison maison NOUN {FEM}"


def pairs(folder, sentence: str, forms: list[str] = FORMS, accounting: str = "words") -> set[tuple]:
    """(kind, feature, right, wrong, distance) of a test sentence."""
    tests, others = read(folder / "test", sentence), read(folder / "other", *forms)
    stream = make_stream([*tests, *others], accounting)
    ids = {form: i for i, form in enumerate(stream.vocabulary)}
    places = stream.word_places(np.arange(1))
    arrays, facts = find_pairs({"test1": (tests, places)}, [*tests, *others], ids)
    tokens = stream.take(np.arange(1)).tokens
    assert (tokens[arrays["agreement_position"]] == arrays["agreement_right"]).all()
    assert set(arrays) == {
        f"agreement_{name}" for name in ("split", "position", "right", "wrong", "kind", "feature", "distance")
    }
    assert arrays["agreement_position"].dtype == np.int64
    assert arrays["agreement_right"].dtype == arrays["agreement_distance"].dtype == np.int32
    assert (facts["splits"], facts["kinds"], facts["features"]) == (["test1"], list(KINDS), list(FEATURES))
    found = set()
    names = ("kind", "feature", "right", "wrong", "distance")
    for kind, feature, right, wrong, distance in zip(*(arrays[f"agreement_{n}"].tolist() for n in names), strict=True):
        found.add((KINDS[kind], FEATURES[feature], stream.vocabulary[right], stream.vocabulary[wrong], distance))
        near = "distant" if distance >= DISTANT else "near"
        assert facts["pairs"][KINDS[kind]][FEATURES[feature]][near] >= 1
    counted = [n for kind in facts["pairs"].values() for both in kind.values() for n in both.values()]
    assert sum(counted) == len(arrays["agreement_right"])
    return found


def test_adjective_after_its_noun(tmp_path):
    found = pairs(
        tmp_path, f"{LA_MAISON} 0 root\nde de ADP _ 4 case\nPaul Paul PROPN _ 2 nmod\nblanche blanc ADJ {FEM} 2 amod"
    )
    assert found == {
        ("noun-adjective", "Gender", "blanche", "blanc", 3),
        ("noun-adjective", "Number", "blanche", "blanches", 3),
        ("determiner-noun", "Number", "maison", "maisons", 1),
    }


def test_the_last_word_that_shows_the_value_gives_the_distance(tmp_path):
    near = f"{LA_MAISON} 0 root\nde de ADP _ 4 case\nPaul Paul PROPN _ 2 nmod\nneuve neuf ADJ {FEM} 2 amod\n"
    other = near.replace(FEM + " 2 amod", MASC + " 2 amod")  # of another gender, which tells nothing of this one
    for sentence, gender in ((near, 1), (other, 4)):
        found = pairs(tmp_path, sentence + f"blanche blanc ADJ {FEM} 2 amod")
        assert ("noun-adjective", "Gender", "blanche", "blanc", gender) in found
        assert ("noun-adjective", "Number", "blanche", "blanches", 1) in found


def test_distances_and_positions_are_those_of_the_stream(tmp_path):
    sentence = f"{LA_MAISON} 0 root\ndu\nde de ADP _ 5 case\nle le DET {MASC} 5 det\nport port NOUN _ 2 nmod\n"
    sentence += f"blanche blanc ADJ {FEM} 2 amod"
    for accounting, distance in (("words", 4), ("surface", 5), ("rows", 5)):
        found = pairs(tmp_path, sentence, accounting=accounting)
        assert ("noun-adjective", "Gender", "blanche", "blanc", distance) in found


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (f"{LA_MAISON} 0 root\nhier hier ADV _ 4 advmod\nvue voir VERB {FEM}|{PART} 2 acl", "noun-participle"),
        (
            f"{LA_MAISON} 4 nsubjpass\nest être AUX {FIN} 4 auxpass\nvue voir VERB {FEM}|{PART} 0 root",
            "subject-predicate",
        ),
        (
            f"{LA_MAISON} 4 nsubj:pass\nest être AUX {FIN} 4 aux:pass\nvue voir VERB {FEM}|{PART} 0 root",
            "subject-predicate",
        ),
        (
            f"{LA_MAISON} 0 root\nqui qui PRON PronType=Rel 5 nsubj:pass\nest être AUX {FIN} 5 aux:pass\n"
            f"vue voir VERB {FEM}|{PART} 2 acl:relcl",
            "antecedent-predicate",
        ),
    ],
)
def test_participles(tmp_path, sentence, expected):
    found = {pair[:4] for pair in pairs(tmp_path, sentence)}
    assert (expected, "Gender", "vue", "vu") in found
    assert (expected, "Number", "vue", "vues") in found


def test_finite_verbs_agree_in_number_with_subject_or_antecedent(tmp_path):
    found = pairs(
        tmp_path, f"{LA_MAISON} 5 nsubj\nde de ADP _ 4 case\nPaul Paul PROPN _ 2 nmod\ndort dormir VERB {FIN} 0 root"
    )
    assert ("subject-verb", "Number", "dort", "dorment", 3) in found
    relative = f"{LA_MAISON} 0 root\nqui qui PRON PronType=Rel 4 nsubj\ndort dormir VERB {FIN} 2 acl:relcl"
    assert ("antecedent-verb", "Number", "dort", "dorment", 2) in pairs(tmp_path, relative)
    # The auxiliary and the copula are the finite verbs of their clauses.
    copula = f"{LA_MAISON} 4 nsubj\nest être AUX {FIN} 4 cop\nblanche blanc ADJ {FEM} 0 root"
    found = pairs(tmp_path, copula)
    assert ("subject-verb", "Number", "est", "sont", 1) in found
    assert ("subject-predicate", "Gender", "blanche", "blanc", 2) in found
    assert ("subject-predicate", "Number", "blanche", "blanches", 1) in found  # "est" shows it


def test_a_number_word_shows_the_plural(tmp_path):
    sentence = "Les le DET Number=Plur 4 det\ndix dix NUM _ 4 nummod\ntrès très ADV _ 4 advmod\n"
    sentence += f"maisons maison NOUN {FEM_PLUR} 0 root"
    assert pairs(tmp_path, sentence) == {("determiner-noun", "Number", "maisons", "maison", 2)}


@pytest.mark.parametrize(
    "sentence",
    [
        # The verb's number is that of two subjects together.
        f"{LA_MAISON} 3 nsubj\ndorment dormir VERB {FIN_PLUR} 0 root",
        # "c'était" and "c'étaient" are both French.
        f"Ce ce PRON Number=Sing 3 nsubj\nne ne ADV _ 3 advmod\ndort dormir VERB {FIN} 0 root",
        # The subject stands behind.
        f"Dort dormir VERB {FIN} 0 root\nPaul Paul PROPN Number=Sing 1 nsubj",
        # "que" is no subject, and the clause's subject has no number here.
        f"Maison maison NOUN {FEM} 0 root\nque que PRON PronType=Rel 4 obj\non on PRON _ 4 nsubj\n"
        f"dort dormir VERB {FIN} 1 acl:relcl",
        # A participle with avoir does not agree with its subject.
        f"Elle elle PRON {FEM} 3 nsubj\na avoir AUX Mood=Ind|VerbForm=Fin 3 aux\nvue voir VERB {FEM}|{PART} 0 root",
        # The adjective stands before its noun.
        f"Blanche blanc ADJ {FEM} 2 amod\nneige neige NOUN {FEM} 0 root",
        # No heads, as in a training part that was rebuilt.
        f"La le DET {FEM}\nmaison maison NOUN {FEM}",
    ],
)
def test_what_is_no_agreement_gives_no_pair(tmp_path, sentence):
    assert {p for p in pairs(tmp_path, sentence) if p[0] != "determiner-noun"} == set()
    assert not (sentence.endswith(FEM) and pairs(tmp_path, sentence))


def test_the_wrong_form_is_unambiguous_and_the_most_frequent(tmp_path):
    sentence = f"{LA_MAISON} 0 root\nbelle beau ADJ {FEM} 2 amod"
    gender = ("noun-adjective", "Gender", "belle")

    def wrong(*forms: str) -> set[str]:
        return {pair[3] for pair in pairs(tmp_path, sentence, list(forms)) if pair[:3] == gender}

    bel, beau = f"bel beau ADJ {MASC}", f"beau beau ADJ {MASC}"
    assert wrong(bel, beau, beau) == {"beau"}
    assert wrong(bel, bel, beau) == {"bel"}
    # Also seen as a feminine, or the right form as a masculine: one of the two was a mistake.
    assert wrong(bel, f"bel beau ADJ {FEM}") == set()
    assert wrong(bel, f"belle beau ADJ {MASC_PLUR}") == set()
    # Another number, part of speech or lemma, or no number at all: not by gender alone.
    assert wrong(f"beaux beau ADJ {MASC_PLUR}") == set()
    assert wrong(f"beau beau NOUN {MASC}", f"bel bel ADJ {MASC}", "beau beau ADJ Gender=Masc") == set()


def test_elision_does_not_give_the_answer_away(tmp_path):
    sentence = f"{LA_MAISON} 4 nsubj\n{{}} ne ADV _ 4 advmod\nest être VERB {FIN} 0 root"
    forms = [f"sont être VERB {FIN_PLUR}", f"étaient être VERB {FIN_PLUR}"]
    assert "subject-verb" in {pair[0] for pair in pairs(tmp_path, sentence.format("pas"), forms[:1])}
    for elided in ("n'", "n’", "ne"):
        assert "subject-verb" not in {pair[0] for pair in pairs(tmp_path, sentence.format(elided), forms[:1])}
    assert "subject-verb" in {pair[0] for pair in pairs(tmp_path, sentence.format("n'"), forms[1:])}


def test_pairs_of_a_treebank_stand_where_they_say(mirror):
    corpus = ud_french.prepare(
        mirror / "ud-french-sequoia", {"accounting": "rows", "validation": "last", "validation_sentences": 112}
    )
    extra, facts = corpus.extra, corpus.facts["agreement"]
    for number, split in enumerate(facts["splits"]):
        of_split = extra["agreement_split"] == number
        tokens, where = corpus.splits[split].tokens, extra["agreement_position"][of_split]
        assert of_split.any()
        assert (tokens[where] == extra["agreement_right"][of_split]).all()
        # The cue stands in the same sentence.
        starts = corpus.splits[split].offsets[:-1]
        start = starts[np.searchsorted(starts, where, side="right") - 1]
        assert (where - extra["agreement_distance"][of_split] >= start).all()
    assert (extra["agreement_right"] != extra["agreement_wrong"]).all()
    assert extra["agreement_distance"].min() == 1
    distant = int((extra["agreement_distance"] >= DISTANT).sum())
    assert (len(extra["agreement_right"]), distant) == (3116, 374)
    assert facts["pairs"]["noun-adjective"] == {
        "Gender": {"near": 245, "distant": 14},
        "Number": {"near": 437, "distant": 18},
    }
