"""The training of document 004, sections 5.3 and 5.4, as Keras does it: RMSProp on windows of words, stopped early."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from reprise import counters
from reprise.engines.loglinear import RMSPropSettings, choose_engine
from reprise.engines.readable import LossReceiver
from reprise.engines.stack import compute_result
from reprise.errors import UserError, require_known
from reprise.evaluation.agreement import MinimalPairs
from reprise.evaluation.sampling import sample_from_windows
from reprise.models.lexicon import Lexicon
from reprise.models.loglinear import initialise
from reprise.records.record import Outcome, make_metric
from reprise.sums import add_in_order
from reprise.training.epochs import Epochs
from reprise.training.protocol import PieceOfWork
from reprise.training.protocols.loglinear_text import READ_BATCH_SIZE, SCHEMES

BOTH_TESTS, TESTS = "tests", ("test1", "test2")
"""The split of what is measured on both tests together, every token counting the same."""
TRAINING_TEXT = "training text"
"""The part in which the last weights read the training text."""
SAMPLES = 3
_SAMPLE = 2  # stream of random numbers


class WindowRMSProp(Epochs):
    """Train for epochs over the training text, each followed by the loss on the validation and both test texts.

    With the scheme "sliding" a target is the word after W others. "streams" is truncated backpropagation on a carried
    state (`loglinear_text.py`). Training ends after `patience` epochs in a row without a new lowest validation loss, or
    after `max_epochs`. Reported are the losses of the last epoch (`cross_entropy`), as of a training whose weights are
    not taken back. Beside them stand those of the epoch with the lowest validation loss (`cross_entropy_best`). The
    training loss of an epoch is the mean over its batches, each under the weights before its step, as Keras shows it.

    After the last epoch the training text is read with the last weights (`cross_entropy_evaluated`). With the scheme
    "sliding" the agreement pairs are judged, if the corpus has any. Words are then drawn too, `sample_words` a text,
    after the last window of the training text.

    Raises:
        UserError: There is no corpus, or it does not fit.
    """

    PARTS, LAST_PARTS = ("train", "valid", *TESTS), (TRAINING_TEXT, "agreement", "sample")
    TRAINED_PARTS = ("train", TRAINING_TEXT)
    HISTORY_METRICS = (*Epochs.HISTORY_METRICS, "cross_entropy_best")
    NEXT_UNIT = "step"
    CHECKPOINT_ATTRIBUTES = (*Epochs.CHECKPOINT_ATTRIBUTES, "margins", "samples")
    STATE_ATTRIBUTE = "state"

    piece_size = 10

    def prepare(self) -> None:
        loaded = self.load_corpus(*self.PARTS)
        tokens = {split: loaded.splits[split].tokens for split in self.PARTS}
        sizes = self.options["window"], self.options["batch_size"]
        self.text = SCHEMES[self.options["scheme"]](tokens, *sizes, self.seed)
        counts = self.text.counts
        self.counts = counts | {BOTH_TESTS: sum(counts[split] for split in TESTS)}
        self.lexicon = Lexicon.from_corpus(loaded)
        self.source = loaded.facts.get("source_nats", {})
        self.pairs = None if self.text.is_carried else MinimalPairs.from_corpus(loaded, self.options["window"])
        model = self.build_model(lexicon=self.lexicon)
        initialise(model, self.make_generator("weights"))
        self.features = model.features
        self.build_engine(model, choose_engine)
        self.optimiser = self.engine
        self.margins: list[float] = []
        self.samples: list[dict[str, Any]] = []

    def get_length(self) -> int:
        """Count the batches of the part."""
        if self.part in (*self.PARTS, TRAINING_TEXT):
            return self.text.count_batches(self._get_split(), self.epoch if self.part == "train" else None)
        return -(-len(self.pairs or ()) // READ_BATCH_SIZE) if self.part == "agreement" else 1

    def _get_split(self) -> str:
        return "train" if self.part == TRAINING_TEXT else self.part

    def process_next(self) -> PieceOfWork:
        number, self.next = self.next, self.next + 1
        if self.part == "agreement":
            self.margins += yield from self._measure_margins(
                slice(READ_BATCH_SIZE * number, READ_BATCH_SIZE * self.next)
            )
            return 0.0
        if self.part == "sample":
            self.samples = self._draw_words()
            return 0.0
        training = self.part == "train"
        x, y = self.text.get_batch(self._get_split(), number, self.epoch if training else None)
        if self.text.is_carried and number == 0:
            self.engine.reset(x.shape[1])
        if training:
            return (yield self.engine.train(x, y, RMSPropSettings.from_options(self.options)))
        if self.part in self.loss_receivers and not self.text.is_carried:
            return self._read_windows(x, y, self.loss_receivers[self.part])
        return (yield self.engine.evaluate(x, y))

    def _measure_margins(self, span: slice) -> PieceOfWork:
        """Return log p(right) - log p(wrong) of these pairs."""
        pairs, margins = self.pairs, np.zeros(len(self.pairs.right[span]))
        for number, split in enumerate(pairs.splits):
            (indices,) = np.nonzero(pairs.split[span] == number)
            if len(indices):
                before = self.text.get_words_before(split, torch.from_numpy(pairs.position[span][indices]))
                log_p = yield self.engine.compute_log_probabilities(before)
                forms = (words[span][indices].astype(np.int64) for words in (pairs.right, pairs.wrong))
                right, wrong = (torch.from_numpy(words)[:, None] for words in forms)
                margins[indices] = (log_p.gather(1, right) - log_p.gather(1, wrong))[:, 0].double().numpy()
        return margins.tolist()

    def _draw_words(self) -> list[dict[str, Any]]:
        """Draw words, with the features that the model reads; none of a model on a carried state."""
        if self.text.is_carried:
            return []
        words, start = self.options["sample_words"], self.text.tokens["train"][-self.options["window"] :].tolist()
        features = self.features or self.lexicon.make_features("corpus", 0, False)
        key = counters.compute_key(self.seed, _SAMPLE)
        return [
            {
                "kind": "generated",
                "epoch": self.epoch,
                "drawn": "from p, after the last window of the training text",
                "words": [self.lexicon.types[i] for i in text],
                "features": [", ".join(features.list_names(i)) for i in text],
            }
            for text in sample_from_windows(self._compute_log_probabilities, start, SAMPLES, words, key)
        ]

    def read_words(self, split: str, receive_losses: LossReceiver) -> None:
        """See `Learner`; of windows, each of which predicts one word."""
        require_known(split, self.text.counts, "--by-count", "split")
        if self.text.is_carried:
            raise UserError("--by-count: a model on a carried state has no losses of single words; omit it")
        for number in range(self.text.count_batches(split, None)):
            self._read_windows(*self.text.get_batch(split, number, None), receive_losses)

    def _read_windows(self, x: Tensor, y: Tensor, receive_losses: LossReceiver) -> float:
        """Return the summed loss of the words after windows in nats; `receive_losses` takes the loss of each."""
        losses = -self._compute_log_probabilities(x).gather(1, y[:, None])[:, 0]
        receive_losses(x[-1], y, losses)
        return float(losses.sum())

    def compute_next_log_p(self, symbols: Tensor) -> Tensor:
        """Compute log p after the symbols, before which the last window of the training text stands."""
        if self.text.is_carried:
            raise UserError("a model on a carried state was trained without a window to begin from; it writes no text")
        before = torch.cat([self.text.tokens["train"], symbols])[-self.options["window"] :]
        return self._compute_log_probabilities(before[:, None])[0]

    def _compute_log_probabilities(self, windows: Tensor) -> Tensor:
        """Compute log p of the word after each window (T, B), (B, V), in nats."""
        return compute_result(self.engine.compute_log_probabilities(windows))

    def describe_progress(self) -> str:
        """Describe the last epoch."""
        if not self.history:
            return "first epoch"
        last = self.history[-1]
        return f"nats/token: train {last['train']:.3f}, valid {last['valid']:.3f}, test1 {last['test1']:.3f}"

    def make_outcome(self) -> Outcome:
        """Report losses at the last epoch and at the best one, agreement, and texts with their words' features."""
        outcome = self.make_curves(*self.PARTS)
        if self.history:
            for name, epoch in (("cross_entropy", -1), ("cross_entropy_best", self.best_epoch - 1)):
                losses = self.history[epoch]
                both = add_in_order(losses[s] * self.counts[s] for s in TESTS) / self.counts[BOTH_TESTS]
                outcome.metrics += [
                    self._make_entropy_metric(s, name, value) for s, value in (losses | {BOTH_TESTS: both}).items()
                ]
            self.add_epoch_counts(outcome)
        if not self.finished:
            return outcome
        evaluated = self.sums[TRAINING_TEXT] / self.counts["train"]
        outcome.metrics.append(self._make_entropy_metric("train", "cross_entropy_evaluated", evaluated))
        # Where the text was generated, what the best possible model would lose on it.
        outcome.metrics += [
            self._make_entropy_metric(split, "source_entropy", value) for split, value in self.source.items()
        ]
        if self.pairs is not None:
            outcome.metrics += self.pairs.make_metrics(np.array(self.margins))
        outcome.samples += self.samples
        return outcome

    def _make_entropy_metric(self, split: str, name: str, value: float) -> dict[str, Any]:
        return make_metric(split, name, value, "nats/token", self.counts[split])
