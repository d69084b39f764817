"""Plain SGD on subsequences, batch 1: the training of document 001's s-RNN family (section 4)."""

from collections.abc import Callable

import torch
from torch import Tensor

from reprise import counters
from reprise.data.corpus import SENTENCE_END, SPLITS
from reprise.engines.readable import LossReceiver
from reprise.engines.rntn import choose_engine
from reprise.engines.rntn.subsequences import SGDSettings, cut_subsequences
from reprise.errors import require_known
from reprise.models.rntn import initialise
from reprise.records.record import Outcome
from reprise.training.epochs import HalvingSchedule
from reprise.training.protocol import PieceOfWork

_DROPOUT_STREAM = 1


class SubsequenceSGD(HalvingSchedule):
    """Epochs over the training text, each followed by the loss on the validation and test text."""

    NEXT_UNIT = "subsequence"
    STATE_ATTRIBUTE = "hidden"

    piece_size = 1500
    read_whole = True  # a text that is only read, in one call

    def prepare(self) -> None:
        loaded, options = self.load_words(), self.config["model"]["options"]
        # Running text, such as text8, has no sentences: its state is carried and never reset.
        running = loaded.boundaries == "none"
        start, length = None if running else loaded.vocabulary.index(SENTENCE_END), self.options["subsequence_length"]
        self.data = {s: cut_subsequences(loaded.splits[s], start, length, carry=running) for s in SPLITS}
        model = self.build_model(vocabulary=len(loaded.vocabulary))
        factors = {"v": 1.0} if options.get("factor_law") == "one" else None
        std, biases = options["weight_std"], options["bias_law"]
        initialise(model, std, self.make_generator("weights"), biases=biases, constants=factors)
        self.build_engine(model, choose_engine)
        self.set_up_schedule({split: data.token_count for split, data in self.data.items()}, loaded)

    def get_length(self) -> int:
        return len(self.data[self.part])

    def process_next(self) -> PieceOfWork:
        first, data = self.next, self.data[self.part]
        piece_size = self.get_length() if self.read_whole and self.part != "train" else self.piece_size
        self.next = min(self.next + piece_size, self.get_length())
        if self.part != "train":
            arguments = {"receive_losses": self.loss_receivers[self.part]} if self.part in self.loss_receivers else {}
            return (yield self.engine.evaluate(data.slice(first, self.next), **arguments))
        settings = SGDSettings(
            learning_rate=self.learning_rate,
            reduction=self.options["loss_reduction"],
            dropout=self.options["dropout"],
            key=counters.compute_key(self.seed, _DROPOUT_STREAM, self.epoch),
            error_bound=self.options.get("error_bound", 0.0),
        )
        return (yield self.engine.train(data.slice(first, self.next), settings))

    def measure(self, report_progress: Callable[[str], None]) -> Outcome:
        """Read the texts piece by piece, so that somebody can be told how far. See `Learner.measure`."""
        self.read_whole = False
        return super().measure(report_progress)

    def read_words(self, split: str, receive_losses: LossReceiver) -> None:
        """See `Learner`; of the engine `reference`."""
        require_known(split, self.data, "--by-count", "split")
        self.engine.evaluate(self.data[split], receive_losses)

    def compute_next_log_p(self, symbols: Tensor) -> Tensor:
        model = self.get_readable_model()
        return torch.log_softmax(model(symbols, model.initial_state())[0][-1], -1)
