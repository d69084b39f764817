"""Tagged sentences of a hidden Markov model: how well a tagger can do at best is known exactly, offline.

Tags follow one another by a Markov chain and emit words. Half of the words in the text are spelt alike under all tags.
Only their neighbours tell the tag: those before it in part, those on both sides better.
"""

from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from reprise.data.corpus import Corpus
from reprise.data.synthetic.markov import shuffle_values
from reprise.data.treebank.tagged import make_tagged_corpus
from reprise.options import Values

TAGS = 8
_SHARED = 0.5  # of the tokens, spelt alike under all tags
_FALLING = 0.25  # the probability of each next successor, in the tag's own order, as a fraction of the one before
_SHORTEST, _LENGTHS = 3, 16  # words of a sentence: from 3 to 18
_EVERY = {"train": 1, "valid": 5, "test": 5}


@dataclass(frozen=True)
class HiddenMarkovModel:
    """Hold K tags and W words, with transitions P (K, K) and emissions Q (K, W). Any tag may come first."""

    P: np.ndarray
    Q: np.ndarray

    def sample(self, sentences: int, random: Random) -> list[tuple[list[int], list[int]]]:
        """Return words and tags of so many sentences; the same on every machine."""
        after, emitted = (np.cumsum(matrix, axis=1).tolist() for matrix in (self.P, self.Q))
        drawn = []
        for _ in range(sentences):
            words, tags = [], []
            for place in range(_SHORTEST + int(random.random() * _LENGTHS)):
                tags.append(_draw(after[tags[-1]], random) if place else int(random.random() * TAGS))
                words.append(_draw(emitted[tags[-1]], random))
            drawn.append((words, tags))
        return drawn

    def compute_posteriors(self, words: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return P(tag of each word | it and those before it), and given all words of the sentence; (T, K) each."""
        forward = np.zeros((len(words), TAGS))
        for t, word in enumerate(words):
            expected = forward[t - 1] @ self.P if t else np.full(TAGS, 1 / TAGS)
            forward[t] = expected * self.Q[:, word]
            forward[t] /= forward[t].sum()
        after, smoothed = np.ones(TAGS), np.zeros_like(forward)
        for t in range(len(words) - 1, -1, -1):
            smoothed[t] = forward[t] * after
            smoothed[t] /= smoothed[t].sum()
            after = self.P @ (self.Q[:, words[t]] * after)
            after /= after.sum()
        return forward, smoothed


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus as `tagged.make_tagged_corpus` keeps it; valid and test have a fifth of the training sentences.

    Words that training has once become `<unk>`. A sentence's label is whether it has the tag that comes nearest to half
    of the training sentences. Facts besides: `best_accuracy`, the share of the test's words that the source itself tags
    right. "forward" is from the words up to each, "both" from the whole sentence.
    """
    source = make_hidden_markov_model(options["vocabulary_size"], options["seed"])
    drawn = {
        split: source.sample(options["training_sentences"] // every, Random(f"{options['seed']} {split}"))
        for split, every in _EVERY.items()
    }
    tagged = {
        split: [[(f"w{w}", f"T{t}") for w, t in zip(*sentence, strict=True)] for sentence in sentences]
        for split, sentences in drawn.items()
    }
    shares = [np.mean([tag in tags for _, tags in drawn["train"]]) for tag in range(TAGS)]
    label = int(np.argmin(np.abs(np.array(shares) - 0.5)))
    facts = {"best_accuracy": _measure_best(source, drawn["test"])}
    return make_tagged_corpus("synthetic_tagged", tagged, 2, f"T{label}", facts)


def make_hidden_markov_model(words: int, seed: int) -> HiddenMarkovModel:
    """Make a model of so many words. All tags share a fifth of them; the others are divided among the tags."""
    shared = words // 5
    own = (words - shared) // TAGS
    P, Q = np.zeros((TAGS, TAGS)), np.zeros((TAGS, shared + TAGS * own))
    falling = _FALLING ** np.arange(TAGS)
    for tag in range(TAGS):
        P[tag, shuffle_values(np.arange(TAGS), seed, tag)] = falling / falling.sum()
        Q[tag, :shared] = _SHARED * _compute_zipf_shares(shared)
        Q[tag, shared + tag * own : shared + (tag + 1) * own] = (1 - _SHARED) * _compute_zipf_shares(own)
    return HiddenMarkovModel(P, Q)


def _compute_zipf_shares(count: int) -> np.ndarray:
    weights = 1 / (1 + np.arange(count))
    return weights / weights.sum()


def _draw(cumulative: list[float], random: Random) -> int:
    return min(bisect_right(cumulative, random.random()), len(cumulative) - 1)


def _measure_best(source: HiddenMarkovModel, sentences: list[tuple[list[int], list[int]]]) -> dict[str, float]:
    right, total = np.zeros(2), 0
    for words, tags in sentences:
        right += [(p.argmax(1) == tags).sum() for p in source.compute_posteriors(words)]
        total += len(words)
    return dict(zip(("forward", "both"), np.round(right / total, 9).tolist(), strict=True))
