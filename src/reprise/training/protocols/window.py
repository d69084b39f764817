"""Plain SGD on windows of words, shuffled: the training of the window-based model of document 003, section 1.3."""

import torch
from torch import Tensor

from reprise.data.corpus import SENTENCE_END, SPLITS
from reprise.engines.lecture.window import choose_engine
from reprise.models.ngram_counts import Positions
from reprise.models.window import initialise
from reprise.training.epochs import HalvingSchedule
from reprise.training.protocol import PieceOfWork

_READ_BATCH_SIZE = 500
"""Windows that are evaluated at once."""


class WindowSGD(HalvingSchedule):
    """Epochs over the windows of the training text in a new order each, every one followed by both other texts.

    A target is a word, its window the n words before it. Boundary words, `</s>`, stand before the first word of a
    sentence (`boundary` "sentence") or of the text ("text"). `</s>` is predicted and counted itself.
    """

    NEXT_UNIT = "window"

    piece_size = 10_000

    def prepare(self) -> None:
        loaded, options = self.load_words(running=False), self.config["model"]["options"]
        self.end, window = loaded.vocabulary.index(SENTENCE_END), options["window"]
        texts = {s: Positions.from_split(loaded.splits[s], window, self.end, self.options["boundary"]) for s in SPLITS}
        self.data = {
            # The latest word last, as the model reads them.
            split: (torch.from_numpy(text.before[::-1].T.copy()), torch.from_numpy(text.words))
            for split, text in texts.items()
        }
        model = self.build_model(vocabulary=len(loaded.vocabulary))
        initialise(model, self.make_generator("weights"))
        self.build_engine(model, choose_engine)
        self.set_up_schedule({split: len(text) for split, text in texts.items()}, loaded)
        self._order: tuple[int, Tensor] | None = None

    def get_length(self) -> int:
        return self.counts[self.part]

    def process_next(self) -> PieceOfWork:
        training, (x, y) = self.part == "train", self.data[self.part]
        size = self.options["batch_size"] if training else _READ_BATCH_SIZE
        piece = slice(self.next, min(self.next + size, self.get_length()))
        self.next = piece.stop
        if not training:
            return (yield self.engine.evaluate(x[piece], y[piece]))
        chosen = self.draw_order()[piece]
        settings = {"learning_rate": self.learning_rate, "clip_norm": self.options["clip_norm"]}
        return (yield self.engine.train(x[chosen], y[chosen], **settings))

    def compute_next_log_p(self, symbols: Tensor) -> Tensor:
        """Compute log p after the symbols, before which boundary words stand."""
        window = self.config["model"]["options"]["window"]
        before = torch.cat([torch.full((window,), self.end), symbols])[-window:]
        return torch.log_softmax(self.get_readable_model()(before[None])[0], -1)

    def draw_order(self) -> Tensor:
        """Return the epoch's order of windows, (n,) int64, by seed and epoch alone."""
        if self._order is None or self._order[0] != self.epoch:
            generator = self.make_generator(f"order {self.epoch}")
            self._order = self.epoch, torch.randperm(self.counts["train"], generator=generator)
        return self._order[1]
