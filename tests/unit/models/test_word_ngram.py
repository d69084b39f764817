"""Word n-gram models: against counting by hand with dictionaries, and against nltk where it is installed."""

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
from corpus_helpers import split_of
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.models import word_ngram
from reprise.models.ngram import NGram
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions
from reprise.models.word_ngram import Additive, Backoff, KneserNey, Relative, StupidBackoff, estimate_discount

V, END = 7, 0
"""Words 0 (the end of a sentence) to 6, which the training text never has."""


def sentences(seed, count):
    generator = np.random.default_rng(seed)
    return [[*generator.integers(1, V - 1, generator.integers(0, 8)).tolist(), END] for _ in range(count)]


TRAINING, TEST = sentences(1, 60), [*sentences(2, 20), [6, 1, 6, 2, END]]


def grams(lines, n, across="sentence"):
    """Every word with the n - 1 before it, oldest first."""
    if across == "text":
        lines = [[word for line in lines for word in line]]
    padded = [[END] * (n - 1) + line for line in lines]
    return [tuple(line[i : i + n]) for line in padded for i in range(len(line) - n + 1)]


class ByHand:
    """Counts of k-grams up to `order`, in dictionaries by context."""

    def __init__(self, lines, order, across="sentence"):
        self.after = [defaultdict(Counter) for _ in range(order + 1)]  # by length of the k-gram
        self.before = [defaultdict(set) for _ in range(order + 1)]
        for k in range(1, order + 1):
            for *context, word in grams(lines, k, across):
                self.after[k][tuple(context)][word] += 1
                if context:
                    self.before[k - 1][(*context[1:], word)].add(context[0])
        self.continued = [defaultdict(Counter) for _ in range(order + 1)]
        for continued, before in zip(self.continued, self.before, strict=True):
            for (*context, word), earlier in before.items():
                continued[tuple(context)][word] = len(earlier)
        self.discounts = [self.discount(table) for table in self.after]
        self.continued_discounts = [self.discount(table) for table in self.continued]

    def discount(self, table):
        counts = [n for words in table.values() for n in words.values()]
        once, twice = counts.count(1), counts.count(2)
        return once / (once + 2 * twice) if once and twice else 0.5


def relative(hand, *context, word):
    successors = hand.after[len(context) + 1][context]
    return successors[word] / sum(successors.values()) if successors else float("nan")


def additive(hand, *context, word):
    successors = hand.after[len(context) + 1][context]
    return (successors[word] + 0.1) / (sum(successors.values()) + 0.1 * V)


def stupid(hand, *context, word):
    successors = hand.after[len(context) + 1][context]
    if successors[word]:
        return successors[word] / sum(successors.values())
    return 0.4 * stupid(hand, *context[1:], word=word) if context else 0.0


def backoff(hand, *context, word):
    successors, D = hand.after[len(context) + 1][context], hand.discounts[len(context) + 1]
    total = sum(successors.values())
    if not context:
        return max(successors[word] - D, 0) / total + D * len(successors) / total / V
    if not successors:
        return backoff(hand, *context[1:], word=word)
    if successors[word]:
        return (successors[word] - D) / total
    rest = 1 - sum(discounted(hand, *context[1:], word=w) for w in successors)
    return D * len(successors) / total / rest * backoff(hand, *context[1:], word=word)


def discounted(hand, *context, word):
    successors, D = hand.after[len(context) + 1][context], hand.discounts[len(context) + 1]
    return (successors[word] - D) / sum(successors.values()) if context else backoff(hand, word=word)


def kneser_ney(hand, *context, word, top=True):
    k = len(context) + 1
    successors, D = (
        (hand.after[k][context], hand.discounts[k])
        if top
        else (hand.continued[k][context], hand.continued_discounts[k])
    )
    lower = kneser_ney(hand, *context[1:], word=word, top=False) if context else 1 / V
    total = sum(successors.values())
    return max(successors[word] - D, 0) / total + D * len(successors) / total * lower if successors else lower


MODELS = {
    Relative(V, 4): relative,
    Additive(V, 4, 0.1): additive,
    StupidBackoff(V, 4, 0.4): stupid,
    Backoff(V, 4): backoff,
    KneserNey(V, 4): kneser_ney,
}


def counted(lines=TRAINING, order=4, across="sentence"):
    return NGramCounts(Positions.from_split(split_of(lines), order - 1, END, across), V)


def hold_out(lines=TEST, order=4, across="sentence"):
    return HeldOut(Positions.from_split(split_of(lines), order - 1, END, across))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("across", ["sentence", "text"])
def test_they_count_as_by_hand(model, across):
    counts, held_out, hand = counted(across=across), hold_out(across=across), ByHand(TRAINING, 5, across)
    for n in range(1, 5):
        expected = [MODELS[model](hand, *context, word=word) for *context, word in grams(TEST, n, across)]
        np.testing.assert_allclose(model.estimate(counts, held_out, n), expected, rtol=1e-12)


def after_every_context(order, lines=TRAINING, words=V, end=END):
    """Return every word after every context that the text has, and after others, and the number of contexts."""
    known = {gram[:-1] for gram in grams(lines, order)}
    others = set(itertools.islice(itertools.product((words - 1, 1, end), repeat=order - 1), 30))
    contexts = sorted(known | others)
    rows = np.array([[*context[::-1], word] for context, word in itertools.product(contexts, range(words))])
    return HeldOut(Positions(rows[:, -1], rows[:, :-1].T)), len(contexts)


# Texts in which counts of counts are 0, a context was followed by every word, or an n-gram was seen at one order only.
TEXTS = [
    TRAINING,
    [[1, 2, END]],
    [[1, 1, END], [1, 2, END], [1, END]] * 3,
    [[a, b, END] for a in range(1, V) for b in range(1, V)],
    [[1, 2, 3, END], [1, 2, 3, END], [4, END]],
    [[1] * 40 + [END]],
]


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(TEXTS)
    | st.lists(st.lists(st.integers(1, 3), max_size=6).map(lambda line: [*line, END]), min_size=1)
)
def test_probabilities_of_all_words_after_a_context_sum_to_one(lines):
    """Of every model and order, over a vocabulary that the text fills and over one with unseen words."""
    for words in {max(2, 1 + max(map(max, lines))), V}:
        positions = Positions.from_split(split_of(lines), 3, END, "sentence")
        for n in range(1, 5):
            counts = NGramCounts(positions, words)
            held_out, contexts = after_every_context(n, lines, words)
            assert all(0 < estimate_discount(counts.table(k)) < 1 for k in range(1, n + 1))
            for model in (Relative(words, 4), Additive(words, 4, 0.1), Backoff(words, 4), KneserNey(words, 4)):
                p = model.estimate(counts, held_out, n).reshape(contexts, words)
                p = p[~np.isnan(p).any(1)]  # a relative frequency is not defined after what was never seen
                np.testing.assert_allclose(p.sum(1), 1, rtol=1e-9)
                assert isinstance(model, Relative) or p.min() > 0


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=8), min_size=1, max_size=8))
def test_witten_and_bell_leave_all_symbols_a_probability_that_sums_to_one(lines):
    for words in (4, 6):
        model = NGram(words, 4, "witten-bell")
        training, _ = model.list_predictions(split_of(lines), np.ones(len(lines), bool))
        counts = model.count(training)
        contexts = {tuple(column) for column in training.before.T} | {(0, 3, 1), (words, words, words), (5, 5, 5)}
        rows = np.array([[*context, word] for context, word in itertools.product(sorted(contexts), range(words))])
        held_out = HeldOut(Positions(rows[:, -1], rows[:, :-1].T))
        for n in range(1, 5):
            p = model.estimate(counts, held_out, n).reshape(len(contexts), words)
            np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
            assert p.min() > 0


def test_scores_of_all_words_after_a_context_do_not_sum_to_one_and_their_sum_is_told():
    model, counts = StupidBackoff(V, 4, 0.4), counted()
    held_out, contexts = after_every_context(4)
    for n in range(1, 5):
        sums = model.estimate(counts, held_out, n).reshape(contexts, V).sum(1)
        np.testing.assert_allclose(
            model.compute_score_sums(counts, held_out, n).reshape(contexts, V), sums[:, None].repeat(V, 1)
        )
        assert (n == 1) == bool(np.allclose(sums, 1))


def test_of_relative_frequencies_zero_and_undefined_are_told_apart():
    counts, held_out = counted([[1, 2, END], [1, 3, END]]), hold_out([[1, 2, 3, END]])
    assert Relative(V, 2).estimate(counts, held_out, 2)[:2].tolist() == [1.0, 0.5]
    assert Relative(V, 2).estimate(counts, held_out, 2)[2] == 0.0  # 3 never followed 2
    assert np.isnan(Relative(V, 3).estimate(counts, held_out, 3)[3])  # nothing ever followed 2 3


def test_the_discount_is_that_of_ney_essen_and_kneser():
    table = counted([[1, 2, END], [1, 3, END], [1, 2, END]], 2).table(2)
    # Bigrams: (end, 1) three times, (1, 2) and (2, end) twice, (1, 3) and (3, end) once.
    assert sorted(table.counts.tolist()) == [1, 1, 2, 2, 3]
    assert estimate_discount(table) == 2 / (2 + 2 * 2)


def test_a_prefix_of_the_text_counts_as_if_it_were_all():
    positions = Positions.from_split(split_of(TRAINING), 2, END, "sentence")
    words = sum(len(line) for line in TRAINING[:20])
    short, alone = NGramCounts(positions.take(slice(words)), V), counted(TRAINING[:20], 3)
    for k in (1, 2, 3):
        assert short.table(k).counts.tolist() == alone.table(k).counts.tolist()


@pytest.mark.parametrize("order", [2, 3, 4])
def test_kneser_ney_is_that_of_nltk(order, monkeypatch):
    """With its constant discount, and single words as frequencies: nltk does not interpolate them."""
    lm = pytest.importorskip("nltk.lm", reason="nltk is not installed; it is used for this comparison alone")
    interpolate = word_ngram._interpolate

    def from_single_words(table, grams, lower):
        if isinstance(lower, float):
            return word_ngram.take_at(word_ngram.compute_relative_frequencies(table), grams[1], 0.0)
        return interpolate(table, grams, lower)

    monkeypatch.setattr(word_ngram, "estimate_discount", lambda table: 0.3)
    monkeypatch.setattr(word_ngram, "_interpolate", from_single_words)
    assert_those_of_nltk(KneserNey(V, order), lm.KneserNeyInterpolated(order, discount=0.3))


@pytest.mark.parametrize("order", [2, 3, 4])
def test_stupid_backoff_is_that_of_nltk(order):
    lm = pytest.importorskip("nltk.lm", reason="nltk is not installed; it is used for this comparison alone")
    assert_those_of_nltk(StupidBackoff(V, order, 0.4), lm.StupidBackoff(0.4, order))


def assert_those_of_nltk(ours, theirs):
    order = ours.order
    # The k-grams of every predicted word, for all k: nltk's own padding predicts some of the padding as well.
    text = [[as_words(gram) for k in range(1, order + 1) for gram in grams([line], k)] for line in TRAINING]
    theirs.fit(text, as_words(range(V)))
    expected = [theirs.score(word, context) for *context, word in map(as_words, grams(TEST, order))]
    estimate = ours.estimate(counted(order=order), hold_out(order=order), order)
    np.testing.assert_allclose(estimate, expected, rtol=1e-12)


def as_words(numbers):
    return tuple(map(str, numbers))
