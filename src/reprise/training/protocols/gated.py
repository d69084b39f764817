"""Truncated backpropagation through time on parallel streams of text: the training of document 001's GRUs and LSTMs.

Section 4: "similar to" Zaremba et al., "Recurrent Neural Network Regularization" (2014).
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from reprise import counters
from reprise.engines.gated import choose_engine
from reprise.errors import UserError
from reprise.models.gated import Masks, initialise
from reprise.training.epochs import HalvingSchedule, cut_streams
from reprise.training.protocol import PieceOfWork

_SOFTMAX_INPUT, _EMBEDDINGS = 1, 2  # streams of dropout masks


class BatchedSGD(HalvingSchedule):
    """Epochs over the training text, each followed by the loss on the validation and test text.

    A text is one stream: its sentences joined, `</s>` kept, predicted and counted, and read before the first word. For
    training it is cut into `batch_size` streams of equal length; the remainder, fewer than `batch_size` words, is left
    out. They are read in parallel, `steps` words at a time with one SGD step each. The last window of an epoch may be
    shorter. The state starts at zero in every epoch and is carried from window to window. Validation and test text are
    read in one stream, the state carried from the first word to the last.
    """

    NEXT_UNIT = "step"
    STATE_ATTRIBUTE = "state"

    windows = 5  # a call

    def prepare(self) -> None:
        loaded, options = self.load_words(), self.config["model"]["options"]
        self.data = cut_streams(loaded, self.options["batch_size"])
        if not self.get_length():
            raise UserError(f"{self.path}: the training text has fewer words than batch_size streams; lower it")
        model = self.build_model(vocabulary=len(loaded.vocabulary))
        initialise(model, options["weight_range"], self.make_generator("weights"))
        self.build_engine(model, choose_engine)
        self.set_up_schedule({split: y.numel() for split, (_, y) in self.data.items()}, loaded)

    def get_length(self) -> int:
        return len(self.data[self.part][0])

    @property
    def window(self) -> int:
        """Return the steps that are read at once: as many words of one stream as of all streams in training."""
        return self.options["steps"] * (1 if self.part == "train" else self.options["batch_size"])

    @property
    def piece_size(self) -> int:
        return self.windows * self.window

    def process_next(self) -> PieceOfWork:
        first, self.next = self.next, min(self.next + self.window, self.get_length())
        x, y = (part[first : self.next].long() for part in self.data[self.part])
        if first == 0:
            self.engine.reset(x.shape[1])
        if self.part != "train":
            return (yield self.engine.evaluate(x, y))
        return (
            yield self.engine.train(
                x,
                y,
                self._draw_masks(first, *x.shape),
                learning_rate=self.learning_rate,
                reduction=self.options["loss_reduction"],
                clip_norm=self.options["clip_norm"],
            )
        )

    @torch.no_grad()
    def read_parts(self, report_progress: Callable[[str], None]) -> None:
        """Read both texts side by side, as two streams of a batch, which is quicker; the longer one ends alone."""
        model, steps = self.engine.model, self.options["steps"] * self.options["batch_size"] // 2
        device = next(model.parameters()).device
        texts = {part: self.data[part] for part in self.PARTS if part not in self.TRAINED_PARTS}
        self.sums |= dict.fromkeys(texts, 0.0)
        first, state = 0, model.initial_state(len(texts))
        while texts:
            end = min(len(x) for x, _ in texts.values())
            if first == end:
                lasts = [len(x) > end for x, _ in texts.values()]
                state = tuple(part[torch.tensor(lasts, device=device)] for part in state)
                texts = {part: text for part, text in texts.items() if len(text[0]) > end}
                continue
            report_progress(f"{' and '.join(texts)} text: {first / max(len(x) for x, _ in texts.values()):.0%}")
            piece = slice(first, min(first + max(1, steps), end))
            pieces = zip(*((x[piece], y[piece]) for x, y in texts.values()), strict=True)
            x, y = (torch.cat(streams, 1).to(device, torch.int64) for streams in pieces)
            logits, state = model(x, state)
            nats = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view_as(y).sum(0)
            for part, value in zip(texts, nats.tolist(), strict=True):
                self.sums[part] += value
            first = piece.stop

    def compute_next_log_p(self, symbols: Tensor) -> Tensor:
        model = self.get_readable_model()
        return torch.log_softmax(model(symbols[:, None], model.initial_state(1))[0][-1, 0], -1)

    def _draw_masks(self, first: int, T: int, B: int) -> Masks | None:
        """Draw dropout masks for embeddings and softmax input from step `first` on, (T, B, E) and (T, B, H).

        Word b of step t takes place t B + b of the epoch. So its masks depend neither on `steps` nor on the engine.
        """
        p, sizes = self.options["dropout"], self.config["model"]["options"]
        if not p:
            return None
        widths = sizes["embedding_size"], sizes["hidden_size"]
        keys = (counters.compute_key(self.seed, stream, self.epoch) for stream in (_EMBEDDINGS, _SOFTMAX_INPUT))
        place = self.engine.device, self.dtype  # on a GPU these numbers would take longer on the CPU than the step
        masks = (
            counters.draw_dropout_mask_torch(key, first * B, T * B, width, p, *place)
            for key, width in zip(keys, widths, strict=True)
        )
        return tuple(mask.view(T, B, -1) for mask in masks)
