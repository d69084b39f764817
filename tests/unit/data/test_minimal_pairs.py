"""Minimal pairs: every kind from a small tree, and what is left out."""

from collections import Counter

import pytest
from treebank_helpers import FEM, FEM_PLUR, MASC, MASC_PLUR, read

from reprise.data.treebank.minimal_pairs import DISTANT, FEATURES, KINDS, find_minimal_pairs
from reprise.data.treebank.ud_french import find_word_places, rank_types, select_rows

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
    text = [select_rows(sentence, accounting) for sentence in tests + others]
    vocabulary = list(rank_types(text))
    places = find_word_places(text[: len(tests)])
    arrays, facts = find_minimal_pairs(
        {"test1": (tests, places)}, tests + others, {form: i for i, form in enumerate(vocabulary)}
    )
    tokens = [vocabulary.index(row.form.lower()) for row in text[0]]
    assert [tokens[place] for place in arrays["agreement_position"]] == arrays["agreement_right"].tolist()
    assert (facts["splits"], facts["kinds"], facts["features"]) == (["test1"], list(KINDS), list(FEATURES))
    names = ("kind", "feature", "right", "wrong", "distance")
    examples, counted = set(), Counter()
    for kind, feature, right, wrong, distance in zip(*(arrays[f"agreement_{n}"].tolist() for n in names), strict=True):
        examples.add((KINDS[kind], FEATURES[feature], vocabulary[right], vocabulary[wrong], distance))
        counted[KINDS[kind], FEATURES[feature], "distant" if distance >= DISTANT else "near"] += 1
    recorded = {
        (k, f, n): c for k, of in facts["pairs"].items() for f, counts in of.items() for n, c in counts.items() if c
    }
    assert recorded == counted
    return examples


ROOT_MAISON = f"{LA_MAISON} 0 root\n"
DE_PAUL = "de de ADP _ 4 case\nPaul Paul PROPN _ 2 nmod\n"
BLANCHE, VUE = f"blanche blanc ADJ {FEM} 2 amod", f"vue voir VERB {FEM}|{PART}"
THE = {("determiner-noun", "Number", "maison", "maisons", 1)}


def noun_forms(
    kind: str, distance: int, right: str = "blanche", masc: str = "blanc", plural: str = "blanches"
) -> set[tuple]:
    return {(kind, "Gender", right, masc, distance), (kind, "Number", right, plural, distance)}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (f"{ROOT_MAISON}{DE_PAUL}{BLANCHE}", THE | noun_forms("noun-adjective", 3)),
        # The last word that shows the value gives the distance: an adjective, of one gender or of another.
        (f"{ROOT_MAISON}{DE_PAUL}neuve neuf ADJ {FEM} 2 amod\n{BLANCHE}", THE | noun_forms("noun-adjective", 1)),
        (
            f"{ROOT_MAISON}{DE_PAUL}neuf neuf ADJ {MASC} 2 amod\n{BLANCHE}",
            THE
            | {
                ("noun-adjective", "Gender", "blanche", "blanc", 4),
                ("noun-adjective", "Number", "blanche", "blanches", 1),
            },
        ),
        # Participles
        (
            f"{ROOT_MAISON}hier hier ADV _ 4 advmod\n{VUE} 2 acl",
            THE | noun_forms("noun-participle", 2, "vue", "vu", "vues"),
        ),
        *(
            (
                f"{LA_MAISON} 4 nsubj{mark}\nest être AUX {FIN} 4 aux{mark}\n{VUE} 0 root",
                THE
                | {("subject-verb", "Number", "est", "sont", 1), ("subject-predicate", "Gender", "vue", "vu", 2)}
                | {("subject-predicate", "Number", "vue", "vues", 1)},  # "est" shows it
            )
            for mark in ("pass", ":pass")
        ),
        (
            f"{ROOT_MAISON}qui qui PRON PronType=Rel 5 nsubj:pass\nest être AUX {FIN} 5 aux:pass\n{VUE} 2 acl:relcl",
            THE
            | {("antecedent-verb", "Number", "est", "sont", 2), ("antecedent-predicate", "Gender", "vue", "vu", 3)}
            | {("antecedent-predicate", "Number", "vue", "vues", 1)},
        ),
        # Finite verbs
        (
            f"{LA_MAISON} 5 nsubj\n{DE_PAUL}dort dormir VERB {FIN} 0 root",
            THE | {("subject-verb", "Number", "dort", "dorment", 3)},
        ),
        (
            f"{ROOT_MAISON}qui qui PRON PronType=Rel 4 nsubj\ndort dormir VERB {FIN} 2 acl:relcl",
            THE | {("antecedent-verb", "Number", "dort", "dorment", 2)},
        ),
        (
            f"{LA_MAISON} 4 nsubj\nest être AUX {FIN} 4 cop\nblanche blanc ADJ {FEM} 0 root",
            THE
            | {("subject-verb", "Number", "est", "sont", 1), ("subject-predicate", "Gender", "blanche", "blanc", 2)}
            | {("subject-predicate", "Number", "blanche", "blanches", 1)},
        ),
        # A number word shows the plural.
        (
            "Les le DET Number=Plur 4 det\ndix dix NUM _ 4 nummod\ntrès très ADV _ 4 advmod\n"
            f"maisons maison NOUN {FEM_PLUR} 0 root",
            {("determiner-noun", "Number", "maisons", "maison", 2)},
        ),
        # The verb's number is that of two subjects together.
        (f"{LA_MAISON} 3 nsubj\ndorment dormir VERB {FIN_PLUR} 0 root", THE),
        # "c'était" and "c'étaient" are both French.
        (f"Ce ce PRON Number=Sing 3 nsubj\nne ne ADV _ 3 advmod\ndort dormir VERB {FIN} 0 root", set()),
        # The subject stands behind.
        (f"Dort dormir VERB {FIN} 0 root\nPaul Paul PROPN Number=Sing 1 nsubj", set()),
        # "que" is no subject, and the clause's subject has no number here.
        (
            f"{ROOT_MAISON}que que PRON PronType=Rel 5 obj\non on PRON _ 5 nsubj\ndort dormir VERB {FIN} 2 acl:relcl",
            THE,
        ),
        # A participle with avoir does not agree with its subject.
        (f"Elle elle PRON {FEM} 3 nsubj\na avoir AUX Mood=Ind|VerbForm=Fin 3 aux\n{VUE} 0 root", set()),
        # The adjective stands before its noun.
        (f"Blanche blanc ADJ {FEM} 2 amod\nneige neige NOUN {FEM} 0 root", set()),
        # No heads, as in a training part that was rebuilt.
        (LA_MAISON.replace(" 2 det", ""), set()),
    ],
)
def test_words_that_agree(tmp_path, sentence, expected):
    assert pairs(tmp_path, sentence) == expected


@pytest.mark.parametrize(("accounting", "distance"), [("words", 4), ("surface", 5), ("rows", 5)])
def test_distances_and_positions_are_those_of_the_stream(tmp_path, accounting, distance):
    sentence = f"{ROOT_MAISON}du\nde de ADP _ 5 case\nle le DET {MASC} 5 det\nport port NOUN _ 2 nmod\n{BLANCHE}"
    assert pairs(tmp_path, sentence, accounting=accounting) >= noun_forms("noun-adjective", distance)


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
