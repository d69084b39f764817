"""A source of pseudo-words whose entropy is known exactly: a first-order Markov chain.

A row of the transition matrix has an end weight, for `</s>`, and one of about V / 20 lists of successors. A list's
weights are 1 / rank. So the matrix is sparse and, but for rounding, of low rank: a small network can learn it. Word
frequencies fall about as Zipf's law says. Weights are integers of sum 2**16 and random numbers come from a counter, so
a text is the same on every machine. Only probabilities and entropies are floating-point numbers.
"""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from reprise.counters import WORD, draw_uniform64, mix_bits
from reprise.data.corpus import SENTENCE_END

TOTAL = 1 << 16  # sum of a row's weights

_HOME = 20  # words that stand in one list only, a list
_SHARED = 20  # frequent words that stand in many lists, as function words do
_PLACES = (0, 3)  # their places in a list, counted from its likeliest word
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_STEP = 1237  # prime to the number of syllables: scatters neighbouring words over the alphabet

# Streams of random numbers: 2 + k for the head of list k, -3 - i for the text of split i.
_MEMBERS, _FOLLOWERS, _ENDS, _TEXTS = 1, -1, -2, -3


@dataclass(frozen=True)
class MarkovChain:
    """Words (number 0 is `</s>`) and sparse transition rows.

    P(successors[i][k] | i) = weights[i][k] / 2**16.
    """

    words: list[str]
    successors: list[list[int]]
    weights: list[list[int]]

    def get_transitions(self) -> np.ndarray:
        """Return P, (V, V) float64: row i holds P(next word | word i)."""
        matrix = np.zeros((len(self.words), len(self.words)))
        for i, (successors, weights) in enumerate(zip(self.successors, self.weights, strict=True)):
            matrix[i, successors] = np.array(weights) / TOTAL
        return matrix

    def compute_stationary(self) -> np.ndarray:
        """Return pi, (V,) float64: share of each word in endlessly concatenated sentences; pi P = pi.

        Every word may be followed by `</s>`, so there is one recurrent class and pi is unique.
        """
        system = self.get_transitions().T - np.eye(len(self.words))
        system[-1] = 1.0  # balance equations are dependent: sum(pi) = 1 replaces the last one
        target = np.zeros(len(self.words))
        target[-1] = 1.0
        return np.maximum(np.linalg.solve(system, target), 0.0)

    def compute_entropy_rate(self) -> float:
        """Return sum_i pi_i H(P_i) in nats per token, `</s>` counted."""
        return float(self.compute_stationary() @ compute_entropy(self.get_transitions()))

    def sample(self, sentences: int, seed: int, split: int) -> list[int]:
        """Return word numbers of so many sentences, each closed by 0; splits are independent samples."""
        cumulative = [np.cumsum(row).tolist() for row in self.weights]
        drawn: list[int] = []
        ended, state, start, block = 0, 0, 0, 4096
        while True:
            numbers = _draw_numbers(seed, _TEXTS - split, block, start) >> np.uint64(48)
            for number in numbers.tolist():
                state = self.successors[state][bisect_right(cumulative[state], number)]
                drawn.append(state)
                if state == 0:
                    ended += 1
                    if ended == sentences:
                        return drawn
            start += block

    def format_text(self, drawn: list[int]) -> str:
        """Return sentences in PTB's format: one a line, words separated by a blank."""
        line = " ".join("\n" if j == 0 else self.words[j] for j in drawn)
        return line.replace(" \n ", "\n").replace(" \n", "\n")

    def compute_cross_entropy(self, drawn: list[int]) -> float:
        """Return the mean of -ln P(word | word before) over a sample; `</s>` precedes its first word."""
        return float(-np.mean(np.log(self.get_transitions()[[0, *drawn[:-1]], drawn])))


def make_chain(size: int, seed: int) -> MarkovChain:
    """Return a source of `size` words, at least 16, `</s>` included; seeds give other sources.

    Its sentences have 12 to 13 words in the mean; none is empty.
    """
    count = size - 1  # words other than </s>: numbers 1 to count, short and frequent ones first
    lists = max(2, round(count / _HOME))
    shared = min(_SHARED, count // 4)
    home = shuffle_values(np.arange(shared + 1, count + 1), seed, _MEMBERS)
    followers = []  # words of each list, the likeliest first
    for k in range(lists):
        words = sorted(home[k::lists].tolist())
        heads = shuffle_values(np.arange(1, shared + 1), seed, _MEMBERS + 1 + k).tolist()
        for place, word in zip(_PLACES, heads, strict=False):
            words.insert(place, word)
        followers.append(words)
    starts = [words[-1] for words in followers]  # a start for every list, so all words occur
    successors, weights = [starts], [_make_zipf_weights(len(starts), TOTAL)]
    chosen = shuffle_values(np.arange(count) % lists, seed, _FOLLOWERS)  # the list that follows a word
    ends = _draw_numbers(seed, _ENDS, count) % np.uint64(TOTAL // 12) + np.uint64(TOTAL // 24)
    for k, end in zip(chosen.tolist(), ends.tolist(), strict=True):  # P(</s>) is 1/24 to 1/8
        successors.append([0, *followers[k]])
        weights.append([end, *_make_zipf_weights(len(followers[k]), TOTAL - end)])
    return MarkovChain([SENTENCE_END, *map(_spell_number, range(count))], successors, weights)


def compute_entropy(p: np.ndarray) -> np.ndarray:
    """Return the entropy in nats along the last axis; 0 ln 0 = 0."""
    return -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)


def _make_zipf_weights(count: int, total: int) -> list[int]:
    """Return integer weights of the given sum that fall as 1 / rank."""
    shares = [(1 << 20) // (rank + 1) for rank in range(count)]
    whole = sum(shares)
    weights = [total * share // whole for share in shares]
    weights[0] += total - sum(weights)
    return weights


def _draw_numbers(seed: int, stream: int, count: int, start: int = 0) -> np.ndarray:
    """Return `count` 64-bit numbers of a stream, from position `start` on, as uint64."""
    return draw_uniform64(mix_bits(mix_bits(seed & WORD) ^ (stream & WORD)), start, count)


def shuffle_values(values: np.ndarray, seed: int, stream: int) -> np.ndarray:
    """Return `values` in an order that depends on seed and stream alone, the same on every machine."""
    return values[np.argsort(_draw_numbers(seed, stream, len(values)), kind="stable")]


def _spell_number(number: int) -> str:
    """Return a pronounceable word for each number, short ones first: 70 of one syllable, 4,900 of two."""
    syllables, size = 1, len(_SYLLABLES)
    while number >= size**syllables:
        number -= size**syllables
        syllables += 1
    number = number * _STEP % size**syllables
    parts = []
    for _ in range(syllables):
        number, part = divmod(number, size)
        parts.append(_SYLLABLES[part])
    return "".join(parts)
