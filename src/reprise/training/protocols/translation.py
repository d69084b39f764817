"""Training of the translation model of document 003, section 2.6: batches of pairs, Adam, clipped gradients.

What is made as large as it can be is the likelihood of the targets, a pair counting as one:

    max over theta of 1/N sum over n of log p_theta(y^(n) | x^(n))      (26)
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reprise.data.corpus import SENTENCE_END, SPLITS, UNKNOWN, Split
from reprise.data.pairs.multi30k import cut_french
from reprise.data.pairs.pairs import get_source, get_test_lines, is_parallel
from reprise.engines.choice import choose_reference
from reprise.errors import UserError
from reprise.evaluation.bleu_counts import count_bleu
from reprise.evaluation.sampling import translate_batch, translate_by_beam
from reprise.models.translation import initialise
from reprise.records.record import Outcome, make_metric
from reprise.training.epochs import BatchEpochs
from reprise.training.protocol import PieceOfWork
from reprise.training.protocols.tagging import cut_batches, make_batch, shuffle_batches, sort_shortest_first
from reprise.units import convert_to_perplexity

_POOL_BATCHES = 20
"""Batches whose pairs are sorted by length before they are cut, so that little of a batch is padding."""
_READ_BATCH_SIZE = 100
"""Pairs that are read at once where nothing is trained."""
_EXAMPLE_COUNT = 5
"""Test pairs that are shown with their translations, at equal distances in the text."""


@dataclass(frozen=True)
class PairBatch:
    """B pairs with sources of at most T words and targets of at most U, `</s>` counted; N words are predicted."""

    source: Tensor  # (T, B) int64
    lengths: Tensor  # (B,) int64, of the sources
    before: Tensor  # (U, B) int64: the word before each target word, `</s>` before the first
    places: Tensor  # (N,) int64: where the targets stand in (U, B), row by row; the rest is padding
    targets: Tensor  # (N,) int64


@dataclass(frozen=True)
class SentencePairs:
    """The pairs of one split; `end` is the number of `</s>`, which closes every target."""

    source: Split
    target: Split
    end: int

    def __len__(self) -> int:
        return self.target.sentence_count

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Count the words of the targets and of the sources, (n,) each."""
        return np.diff(self.target.offsets), np.diff(self.source.offsets)

    def make_batch(self, numbers: np.ndarray) -> PairBatch:
        """Return the pairs of these numbers, padded."""
        source, target = (make_batch(split, numbers) for split in (self.source, self.target))
        before = torch.cat([torch.full((1, len(numbers)), self.end), target.words[:-1]])
        places = target.present.flatten().nonzero()[:, 0]
        return PairBatch(source.words, source.present.sum(0), before, places, target.words.flatten()[places])


class Translation(BatchEpochs):
    """Epochs over the training pairs in an order of their own each, every one followed by the validation pairs.

    Training ends after `patience` epochs in a row whose validation loss is not below the lowest before them, or after
    `max_epochs`. Then the test pairs are read, and their sources translated, with the parameters of the epoch of lowest
    validation loss. The decoder reads the words of the given target before each word, when it translates its own. The
    test's sources are translated by the likeliest word at each time, `<unk>` excepted, up to `output_limit` words.
    """

    PARTS, LAST_PARTS = ("train", "valid"), ("test", "translate")
    CHECKPOINT_ATTRIBUTES = (*BatchEpochs.CHECKPOINT_ATTRIBUTES, "translations")

    piece_size = 5

    def prepare(self) -> None:
        self.corpus = self.load_corpus()
        if not is_parallel(self.corpus):
            raise UserError(f"{self.path}: no parallel text; the protocol translation needs one, such as multi30k")
        source, self.end = get_source(self.corpus), self.corpus.vocabulary.index(SENTENCE_END)
        self.pairs = {s: SentencePairs(source.splits[s], self.corpus.splits[s], self.end) for s in SPLITS}
        self.counts = {split: len(pairs.target.tokens) for split, pairs in self.pairs.items()}
        self.pairs["translate"] = self.pairs["test"]
        model = self.build_model(source_vocabulary=len(source.vocabulary), vocabulary=len(self.corpus.vocabulary))
        initialise(model, self.make_generator("weights"))
        self.build_engine(model, choose_reference)
        self.use_adam(fused=True)
        self.translations: dict[int, list[int]] = {}  # by number of the pair

    def process_next(self) -> PieceOfWork:
        numbers = self.batches[self.next]
        self.next += 1
        batch = self.pairs[self.part].make_batch(numbers)
        if self.part != "translate":
            return (yield (self.update if self.part == "train" else self.read)(batch))
        banned, limit = [self.corpus.vocabulary.index(UNKNOWN)], self.options["output_limit"]
        sentences = translate_batch(self.get_readable_model(), batch.source, batch.lengths, self.end, limit, banned)
        self.translations |= dict(zip(numbers.tolist(), sentences, strict=True))
        return 0.0

    def translate(self, sentence: str, max_length: int, width: int) -> str:
        """Translate a French sentence, its unknown words read as `<unk>`: by the likeliest word, or by a beam."""
        numbers = {word: i for i, word in enumerate(get_source(self.corpus).vocabulary)}
        words = cut_french(sentence, self.corpus.facts["lowercase"])
        if not words:
            raise UserError("--source: has no words; give a sentence")
        source = torch.tensor([[numbers.get(word, numbers[UNKNOWN])] for word in words])
        banned = [self.corpus.vocabulary.index(UNKNOWN)]
        if width == 1:
            (sentence,) = translate_batch(
                self.get_readable_model(), source, torch.tensor([len(words)]), self.end, max_length, banned
            )
        else:
            sentence = translate_by_beam(self.get_readable_model(), source, self.end, max_length, width, banned)
        return " ".join(self.corpus.vocabulary[word] for word in sentence)

    def loss(self, batch: PairBatch) -> tuple[Tensor, float]:
        """Compute (26) of the pairs, and the nats of all."""
        h, _ = self.model.decode(batch.before, *self.model.encode(batch.source, batch.lengths))
        logits = self.model.compute_logits(h.flatten(0, 1).index_select(0, batch.places))
        nats = functional.cross_entropy(logits, batch.targets, reduction="sum")
        return nats / len(batch.lengths), nats.item()

    def make_batches(self, part: str) -> list[np.ndarray]:
        """Return numbers of pairs."""
        lengths = self.pairs[part].lengths
        if part == "train":
            generator = self.make_generator(f"order {self.epoch}")
            return shuffle_batches(self.options["batch_size"], _POOL_BATCHES, generator, *lengths)
        return cut_batches(sort_shortest_first(np.arange(len(self.pairs[part])), *lengths), _READ_BATCH_SIZE)

    def describe_progress(self) -> str:
        if self.epoch:
            return f"valid ppl {convert_to_perplexity(self.history[self.best_epoch - 1]['valid']):.2f}"
        pairs = max(1, self.next * self.options["batch_size"])
        return f"training loss {self.get_part_nats() / pairs:.2f} nats/pair" if self.part == "train" else "first epoch"

    def make_outcome(self) -> Outcome:
        """Report losses of the best epoch and of every epoch, all test translations, and a few with their texts."""
        outcome = self.make_curves(*self.PARTS)
        if not self.finished:
            return outcome
        losses = self.history[self.best_epoch - 1] | {"test": self.sums["test"] / self.counts["test"]}
        for split, loss in losses.items():
            outcome.metrics.append(make_metric(split, "cross_entropy", loss, "nats/token", self.counts[split]))
        self.add_epoch_counts(outcome)
        words, lines = self.corpus.vocabulary, get_test_lines(self.corpus)
        texts = [" ".join(words[i] for i in self.translations[n]) for n in range(len(lines))]
        counts = count_bleu(texts, [target for _, target in lines], self.corpus.facts["lowercase"])
        source_words = self.pairs["test"].lengths[1].tolist()
        every = {"kind": "translations", "split": "test", "decoder": "greedy", "texts": texts, **counts}
        chosen = range(0, len(lines), max(1, len(lines) // _EXAMPLE_COUNT))[:_EXAMPLE_COUNT]
        shown = [
            {"kind": "example", "line": n + 1, "source": lines[n][0], "reference": lines[n][1], "text": texts[n]}
            for n in chosen
        ]
        outcome.samples = [every | {"source_words": source_words}, *shown]
        return outcome
