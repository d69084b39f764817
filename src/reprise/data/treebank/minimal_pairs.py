"""Minimal pairs for agreement in gender and number, out of a treebank's test sentences.

Document 004, section 5.4, finds in generated sentences "a much better ability of the LL-RNN to account for agreement in
gender and number at moderate distances". It leaves a proper evaluation open. Here a model reads a test sentence up to a
word that agrees with an earlier one. It is asked whether that word is more probable than another form of the same lemma
and part of speech. The other form differs in gender alone, or in number alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from reprise.data.treebank.conllu_rows import Features, Row, Sentence

FEATURES = ("Gender", "Number")
KINDS = (
    "determiner-noun",
    "noun-adjective",
    "noun-participle",
    "subject-verb",
    "subject-predicate",
    "antecedent-verb",
    "antecedent-predicate",
)
"""Pairs that agree: the second word is asked for; an antecedent is the noun that "qui" stands for."""
DISTANT = 3
"""From so many tokens on a pair is counted as distant."""
_AGREEING = {"det", "amod", "acl", "nummod", "nsubj", "nsubjpass", "aux", "auxpass", "cop"}
_TARGETS = {"NOUN", "ADJ", "VERB", "AUX"}
_VOWELS = set("aàâäæeéèêëiîïoôöœuùûüyÿh")
_ELIDED = {"de", "je", "jusque", "la", "le", "lorsque", "me", "ne", "puisque", "que", "quoique", "se", "te"}

FormCounts = Mapping[tuple[str, str], Mapping[str, Counter[Features]]]
"""The forms of every lemma and part of speech, in lower case, each with the features it was seen with."""
Tests = Mapping[str, tuple[list[Sentence], list[np.ndarray]]]


def find_minimal_pairs(
    tests: Tests, corpus: Iterable[Sentence], ids: Mapping[str, int]
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return arrays of P pairs for `Corpus.extra`, and what to say of them in `Corpus.facts`.

    `tests` gives for every test split its sentences and the places of their words in the split's tokens. `corpus` are
    all sentences, in which the wrong forms are looked for; `ids` is the number of every type. Sentences without heads
    give no pair. The arrays, (P,) int32 but for position:

    * agreement_split: the number of the split in facts["agreement"]["splits"].
    * agreement_position, int64: the right word's place in the split's tokens; tokens[:position] lie before it.
    * agreement_right, agreement_wrong: the two types.
    * agreement_kind, agreement_feature: numbers in KINDS and FEATURES (also in the facts).
    * agreement_distance: the distance in tokens from the last earlier word that shows the gender or number of what the
      right word agrees with. It is 1 for the token before it.
    """
    form_counts: dict[tuple[str, str], dict[str, Counter[Features]]] = defaultdict(lambda: defaultdict(Counter))
    for row in (row for sentence in corpus for row in sentence.rows):
        if row.upos in _TARGETS and row.lemma is not None:
            form_counts[row.lemma.lower(), row.upos][row.form.lower()][row.features] += 1
    names = ("split", "position", "right", "wrong", "kind", "feature", "distance")
    rows = []
    for number, (sentences, places) in enumerate(tests.values()):
        for sentence, positions in zip(sentences, places, strict=True):
            for target, feature, kind, cue in find_agreements(sentence.words):
                right = sentence.words[target]
                wrong = _find_wrong_form(right, feature, form_counts, ids)
                if wrong is not None and not (
                    target and _has_telling_elision(sentence.words[target - 1], right.form, wrong)
                ):
                    pair = (ids[right.form.lower()], ids[wrong], KINDS.index(kind), FEATURES.index(feature))
                    rows.append((number, positions[target], *pair, positions[target] - positions[cue]))
    table = np.array(rows, np.int64).reshape(-1, len(names))
    arrays = {f"agreement_{name}": table[:, i].astype(np.int32) for i, name in enumerate(names)}
    arrays["agreement_position"] = table[:, names.index("position")]
    return arrays, {
        "splits": list(tests),
        "kinds": list(KINDS),
        "features": list(FEATURES),
        "pairs": _count_pairs(arrays),
    }


def find_agreements(words: tuple[Row, ...]) -> Iterator[tuple[int, str, str, int]]:
    """Yield (target, feature, kind, cue): word `target` agrees in `feature` with the group of the earlier word `cue`.

    `cue` is the last such word: what the target agrees with, or another word that agrees with the same. So a noun's
    adjective stands at distance 1 from another adjective of this noun, however far the noun itself may be.
    """
    children: dict[int, list[int]] = defaultdict(list)
    for i, word in enumerate(words):
        if word.head is None:
            return
        children[word.head - 1].append(i)
    for target, word in enumerate(words):
        if word.upos not in _TARGETS:
            continue
        agreement = _find_controller(words, children, target)
        if agreement is None:
            continue
        kind, controller, owner, clause = agreement
        for feature in FEATURES:
            value = word.feature(feature)
            if value is None or words[controller].feature(feature) != value:
                continue
            dependents = children[owner] + children[clause]
            group = [owner] + [i for i in dependents if words[i].upos == "DET" or _get_relation(words[i]) in _AGREEING]
            cues = [i for i in group if words[i].feature(feature) == value]
            cues += [i for i in group if value == "Plur" and _get_relation(words[i]) == "nummod"]
            yield target, feature, kind, max(i for i in cues if i < target)


def _find_controller(
    words: tuple[Row, ...], children: Mapping[int, list[int]], target: int
) -> tuple[str, int, int, int] | None:
    """Return kind, controller, the word whose gender and number these are, and the head of the target's clause.

    All stand for numbers of words; the controller stands before the target.
    """
    word, head = words[target], words[target].head - 1
    relation = _get_relation(word)
    if word.upos == "NOUN":
        determiners = [i for i in children[target] if i < target and words[i].upos == "DET"]
        return ("determiner-noun", determiners[0], target, target) if determiners else None
    if 0 <= head < target and words[head].upos in {"NOUN", "PROPN", "PRON"} and word.deprel != "acl:relcl":
        if relation == "amod" and word.upos == "ADJ":
            return "noun-adjective", head, head, target
        if relation == "acl" and word.feature("VerbForm") == "Part":
            return "noun-participle", head, head, target
    finite = word.feature("VerbForm") == "Fin"
    clause = head if finite and relation in {"aux", "auxpass", "cop"} else target
    to_be = [i for i in children[clause] if i < target and words[i].lemma == "être"]
    to_be = [i for i in to_be if _get_relation(words[i]) in {"aux", "auxpass", "cop"}]
    if not finite and not to_be:
        return None  # a participle with avoir agrees with its object, if at all
    subjects = [i for i in children[clause] if _get_relation(words[i]) in {"nsubj", "nsubjpass"} and i < target]
    if not subjects or words[subjects[-1]].lemma == "ce":  # "c'était" and "c'étaient" are both right
        return None
    role, controller = "verb" if finite else "predicate", subjects[-1]
    if words[controller].feature("PronType") != "Rel":
        return f"subject-{role}", controller, controller, clause
    antecedent = words[clause].head - 1
    if words[clause].deprel != "acl:relcl" or not 0 <= antecedent < target:
        return None
    return f"antecedent-{role}", antecedent, antecedent, clause


def _find_wrong_form(right: Row, feature: str, form_counts: FormCounts, ids: Mapping[str, int]) -> str | None:
    """Return the most frequent form whose features differ from those of `right` in this feature's value alone.

    Forms that also occur with the right value are left out. Return None if there is no other, or if the right form
    occurs with another value: such forms are ambiguous, or were annotated by mistake.
    """
    if right.lemma is None:
        return None
    forms = form_counts[right.lemma.lower(), right.upos]

    def list_values(form: str) -> set[str]:
        return {value for features in forms[form] for name, value in features if name == feature}

    def drop_feature(features: Features) -> Features:
        return tuple(pair for pair in features if pair[0] != feature)

    value = right.feature(feature)
    if list_values(right.form.lower()) != {value}:
        return None
    candidates = [
        (-count, ids[form], form)
        for form, seen_with in forms.items()
        if value not in list_values(form)
        for features, count in seen_with.items()
        if len(drop_feature(features)) == len(features) - 1 and drop_feature(features) == drop_feature(right.features)
    ]
    return min(candidates)[2] if candidates else None


def _has_telling_elision(before: Row, right: str, wrong: str) -> bool:
    """Return whether the word before tells by a vowel or apostrophe which form follows, as "n'" does before "est"."""
    vowels = [form[0].lower() in _VOWELS for form in (right, wrong)]
    word = before.form.lower()
    return vowels[0] != vowels[1] and (word in _ELIDED or word.endswith(("'", "’")))


def _get_relation(word: Row) -> str:
    """Return the dependency relation without its subtype, in the names of UD 1: nsubj:pass is nsubjpass."""
    main, _, subtype = (word.deprel or "").partition(":")
    return f"{main}pass" if subtype == "pass" and main in {"nsubj", "aux"} else main


def _count_pairs(arrays: Mapping[str, np.ndarray]) -> dict[str, dict[str, dict[str, int]]]:
    """Count the pairs of every kind and feature, near (less than DISTANT tokens) and distant, where there are any."""
    table: dict[str, dict[str, dict[str, int]]] = {}
    columns = (arrays[f"agreement_{name}"].tolist() for name in ("kind", "feature", "distance"))
    for kind, feature, distance in zip(*columns, strict=True):
        counts = table.setdefault(KINDS[kind], {}).setdefault(FEATURES[feature], {"near": 0, "distant": 0})
        counts["distant" if distance >= DISTANT else "near"] += 1
    return table
