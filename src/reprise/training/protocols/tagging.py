"""A tag for every word, and a label for every sentence: what `SentenceSGD` trains for document 003."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from reprise.data.corpus import Corpus
from reprise.data.treebank.tagged import KINDS, Baseline
from reprise.training.protocols.sentence_batches import Batch
from reprise.training.protocols.sentence_results import Items
from reprise.training.protocols.sentence_sgd import SentenceSGD


class Tagging(SentenceSGD):
    """Section 2.5: the tag of each word, the mean loss over the words of a batch.

    Words are grouped by what training shows of them: always the same tag, several, or nothing. Guessing takes the
    word's most frequent tag.
    """

    TRAINS = ("tagger",)
    PREDICTED = "a tag for every one"

    groups, item, model_name = KINDS, "tag", "tagger"

    def items_of(self, corpus: Corpus, split: str) -> Items:
        """See `SentenceSGD`."""
        guesses = Baseline.of(corpus).of_words(corpus.splits[split].tokens)
        return Items(corpus.extra[f"tags.{split}"], corpus.extra[f"kinds.{split}"], guesses)

    def classes_of(self, corpus: Corpus) -> int:
        """See `SentenceSGD`."""
        return len(corpus.facts["tags"])

    def classify(self, batch: Batch) -> tuple[Tensor, np.ndarray]:
        """See `SentenceSGD`."""
        logits = self.model(batch.words, batch.present)
        return logits[batch.present], batch.places[batch.present].numpy()


class SentenceLabels(SentenceSGD):
    """Section 2.2: the label of each sentence, from one vector that represents it.

    Sentences are grouped into those no longer than the median of their split, and longer ones. Guessing takes the more
    frequent label.
    """

    TRAINS = ("sentence-classifier",)
    PREDICTED = "a label for every sentence"

    groups, item, model_name = ("short", "long"), "sentence", "sentence-classifier"

    def items_of(self, corpus: Corpus, split: str) -> Items:
        """See `SentenceSGD`."""
        lengths = np.diff(corpus.splits[split].offsets)
        labels = corpus.extra[f"labels.{split}"]
        guess = int(2 * corpus.extra["labels.train"].sum() > len(corpus.extra["labels.train"]))
        return Items(labels, (lengths > np.median(lengths)).astype(np.int64), np.full_like(labels, guess))

    def classes_of(self, corpus: Corpus) -> int:
        """See `SentenceSGD`."""
        return 2

    def classify(self, batch: Batch) -> tuple[Tensor, np.ndarray]:
        """See `SentenceSGD`."""
        return self.model(batch.words, batch.present), batch.numbers
