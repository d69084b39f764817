"""Forms of the words of a treebank: which other form of a word differs from it in gender or in number alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping

from reprise.data.treebank.conllu_rows import Features, Row, Sentence

_VOWELS = set("aàâäæeéèêëiîïoôöœuùûüyÿh")
_ELIDED = {"de", "je", "jusque", "la", "le", "lorsque", "me", "ne", "puisque", "que", "quoique", "se", "te"}


class Lexicon:
    """The forms of every lemma and part of speech, in lower case, each with the features it was seen with."""

    def __init__(self, corpus: Iterable[Sentence], parts_of_speech: Container[str]):
        self.seen: dict[tuple[str, str], dict[str, Counter[Features]]] = defaultdict(lambda: defaultdict(Counter))
        for sentence in corpus:
            for row in sentence.rows:
                if row.upos in parts_of_speech and row.lemma is not None:
                    self.seen[row.lemma.lower(), row.upos][row.form.lower()][row.features] += 1

    def wrong_form(self, right: Row, feature: str, ids: Mapping[str, int]) -> str | None:
        """The most frequent form whose features differ from those of `right` in this feature's value alone.

        None where there is none, where it was ever seen with the right value, or the right form with a wrong one:
        such forms are ambiguous, or were annotated by mistake.
        """
        if right.lemma is None:
            return None
        form, value = right.form.lower(), right.feature(feature)
        forms = self.seen[right.lemma.lower(), right.upos]
        if _values(forms[form], feature) != {value}:
            return None
        others = [pair for pair in right.features if pair[0] != feature]
        candidates = [
            (-seen[features], ids[other], other)
            for other, seen in forms.items()
            if value not in _values(seen, feature)
            for features in seen
            if _differs(features, others, feature)
        ]
        return min(candidates)[2] if candidates else None


def elision_tells(before: Row, right: str, wrong: str) -> bool:
    """Whether the word before shows by its vowel or apostrophe which form follows: "n'" stands before "est" alone."""
    vowels = [form[0].lower() in _VOWELS for form in (right, wrong)]
    word = before.form.lower()
    return vowels[0] != vowels[1] and (word in _ELIDED or word.endswith(("'", "’")))


def _values(seen: Counter[Features], feature: str) -> set[str]:
    return {value for features in seen for name, value in features if name == feature}


def _differs(features: Features, others: list[tuple[str, str]], feature: str) -> bool:
    """Whether `features` are `others` and one value of `feature`."""
    rest = [pair for pair in features if pair[0] != feature]
    return len(rest) == len(features) - 1 and rest == others
