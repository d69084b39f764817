"""Losses of the predicted tokens of lines, and the numbers that document 000 makes of them (sections 4 and 5).

"Average cross-entropy over the test documents" (section 4) has two readings. It is the mean over all tokens (micro), or
the mean over lines of each line's mean (macro). Both are kept, per token and per character of the predicted tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprise.data.corpus import Split
from reprise.records.record import make_curve, make_metric

SPACE = " "
SHOWN_LINES = ("to land customers for their", "but it s just one of those things that happened")
"""Beginnings of the lines of Figure 2: they are shown by the fold that is tested on them."""


@dataclass(frozen=True)
class LineLosses:
    """The predicted tokens of a split in the order of the text: place, loss in nats, and the most probable symbol."""

    split: Split
    vocabulary: Sequence[str]
    places: np.ndarray  # (n,) int64, increasing
    nats: np.ndarray  # (n,) float64
    best: np.ndarray  # (n,) int32

    @property
    def micro(self) -> float:
        """Return nats per token."""
        return float(self.nats.mean())

    def make_metrics(self, name: str) -> list[dict[str, Any]]:
        """Return entropies of the split called `name`, and how many characters its predicted tokens have."""
        lengths = np.array([len(symbol) for symbol in self.vocabulary])
        characters = lengths[self.split.tokens[self.places]]
        line = np.searchsorted(self.split.offsets, self.places, side="right")
        first = np.flatnonzero(np.diff(line, prepend=-1))  # of the predictions of each line
        by_line = (np.add.reduceat(values, first) for values in (self.nats, np.ones_like(self.nats), characters))
        nats_of_line, tokens_of_line, characters_of_line = by_line
        by_character = nats_of_line / characters_of_line
        n, lines, total = len(self.nats), len(first), int(characters.sum())

        entropies = [
            ("cross_entropy", self.micro, "nats/token", n),
            ("cross_entropy_macro", float((nats_of_line / tokens_of_line).mean()), "nats/token", lines),
            ("cross_entropy_per_character", float(self.nats.sum() / total), "nats/character", total),
            ("cross_entropy_per_character_macro", float(by_character.mean()), "nats/character", lines),
            ("predicted_characters", total, "characters", n),
        ]
        return [make_metric(name, *values) for values in entropies]

    def make_position_curves(self, name: str) -> list[dict[str, Any]]:
        """Return mean loss and count over the position of a character in its word, 1 for the first letter (Figure 3).

        Letters and the space that ends a word apart: the space after a word of three letters is at position 4. The
        first character of a line is not predicted. Empty for tokens of more than one character.
        """
        if not self._has_single_characters():
            return []
        position, is_space = find_word_positions(self.split, self.vocabulary.index(SPACE))
        position, is_space = position[self.places], is_space[self.places]
        curves = []
        for suffix, chosen in (("", ~is_space), ("_of_space", is_space)):
            count = np.bincount(position[chosen])
            total = np.bincount(position[chosen], self.nats[chosen])
            x = np.flatnonzero(count)
            for quantity, unit, y in (
                ("cross_entropy", "nats/token", total[x] / count[x]),
                ("count", "characters", count[x]),
            ):
                curves.append(make_curve(name, quantity + suffix, unit, "position_in_word", x.tolist(), y.tolist()))
        return curves

    def make_samples(self, name: str, lines: np.ndarray, count: int) -> list[dict[str, Any]]:
        """Return predictions under true lines (Figure 2): the paper's lines if they are in `lines`, and the first few.

        `prediction` has the line's length: at each place it has the most probable character after what stands before it
        in `line`. The first character is not predicted; a space takes its place. `prediction` is empty for tokens of
        more than one character.
        """
        if not self._has_single_characters():
            return []
        texts = {int(i): self._spell(self.split.tokens[slice(*self.split.offsets[i : i + 2])]) for i in lines}
        chosen = [i for shown in SHOWN_LINES for i, text in texts.items() if text.startswith(shown)]
        chosen += [i for i, text in texts.items() if len(text) > 1 and i not in chosen][:count]
        samples = []
        for i in chosen:
            first, last = np.searchsorted(self.places, self.split.offsets[i : i + 2])
            samples.append({"split": name, "line": texts[i], "prediction": SPACE + self._spell(self.best[first:last])})
        return samples

    def _has_single_characters(self) -> bool:
        return all(len(symbol) == 1 for symbol in self.vocabulary)

    def _spell(self, tokens: np.ndarray) -> str:
        return "".join(self.vocabulary[token] for token in tokens.tolist())


def find_word_positions(split: Split, space: int) -> tuple[np.ndarray, np.ndarray]:
    """Return every token's position in its word, from 1, and whether it is a space (then the position after the word).

    Words begin where lines do and after spaces. (n,) int64 and (n,) bool.
    """
    is_space = split.tokens == space
    begins = np.concatenate([[True], is_space[:-1]])
    begins[split.offsets[:-1][np.diff(split.offsets) > 0]] = True
    place = np.arange(len(is_space))
    return place - np.maximum.accumulate(np.where(begins, place, 0)) + 1, is_space
