"""Training of document 002, question 2.1: windows of a book's characters from random places, RMSProp, texts meanwhile.

What the document leaves open is as in its author's code.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reprise import counters
from reprise.data.text.books import NEIGHBOURS
from reprise.engines.choice import choose_reference
from reprise.engines.optimisers import INITIAL_MEAN_SQUARES, RMSProp
from reprise.errors import UserError
from reprise.evaluation.sampling import compute_log_probabilities
from reprise.models.deep_lstm import State, initialise
from reprise.records.record import Outcome, make_curve, make_metric
from reprise.sums import add_in_order
from reprise.training.protocol import PieceOfWork, Steps
from reprise.training.protocols.books_texts import BookTexts

_OFFSETS, _STARTS = 1, 2  # streams of random numbers
_READ_LENGTH = 1000
"""Characters of one stream that are read at once."""


class CharacterWindows(Steps):
    """Make steps 0, 1, …, `steps` - 1 on `batch_size` windows of `length` characters, each of which predicts the next.

    With the `window_state` zero, windows begin anywhere, drawn with replacement, and are read from a zero state. With
    carried, each of the streams begins at a random place. It continues where its last window ended, with its state.
    Beyond the last place it goes on at one of the first `length` places, with a zero state.

    The loss is logged every `log_every` steps. It is the mean over the step's own characters before its update, in
    nats. Texts are written after the update, every `sample_every` steps.
    """

    CHECKPOINT_ATTRIBUTES = ("step", "losses", "measures", "samples", "carried")

    piece_size = 16  # about half a second

    def prepare(self) -> None:
        loaded = self.load_corpus()
        self.total = self.options["steps"]
        self.tokens = torch.from_numpy(loaded.splits["train"].tokens.astype(np.int64))
        # As in the author's code, which leaves the last two characters out.
        self.places = len(self.tokens) - self.options["length"] - 2
        if self.places < 1:
            raise UserError(f"{self.path}: {len(self.tokens)} characters are too few for windows of `length`; lower it")
        self.own_text = loaded.splits.get("test")  # a book has none; see `reprise.data.own_text`
        self.source = loaded.facts.get("source_nats", {}).get("train")
        self.texts = BookTexts(loaded, self.options, self.seed)
        self.model = self.build_model(vocabulary=len(loaded.vocabulary))
        initialise(self.model, self.make_generator("weights"))
        # Texts are drawn and measured on the CPU, which trains as fast as they are needed.
        self.build_engine(self.model, choose_reference)
        settings = {
            "learning_rate": self.options["learning_rate"],
            "rho": self.options["decay"],
            "epsilon_inside": self.options["epsilon"],
            "initial_mean_square": INITIAL_MEAN_SQUARES[self.options["mean_square_start"]],
        }
        self.set_optimiser(lambda parameters: RMSProp(parameters, **settings))
        self.is_carried = self.options["window_state"] == "carried"
        self.carried: State = self.model.initial_state(self.options["batch_size"])
        self.losses: dict[int, float] = {}
        self.measures: list[tuple[int, dict[str, Any]]] = []
        self.samples: list[dict[str, Any]] = []

    def take_step(self) -> PieceOfWork:
        places, fresh = self.draw_places(self.step)
        state = self.model.initial_state(len(places))
        if self.is_carried:
            continues = (~fresh)[:, None].to(self.carried[0][0])
            state = tuple((h * continues, c * continues) for h, c in self.carried)
        loss, self.carried = yield self.update(*self.cut_windows(places), state)
        self.check_loss(loss)
        if self.step % self.options["log_every"] == 0:
            self.losses[self.step] = round(loss, 6)
        if self.step % self.options["sample_every"] == 0:
            metrics, samples = self.texts.measure_during_training(self.get_readable_model(), self.step)
            # What becomes unstable shows in texts before it shows in a loss: no record holds what is no number.
            self.measures += [(self.step, m) for m in metrics if math.isfinite(m["value"])]
            self.samples += samples
        return f"loss {loss:.4f} nats/character"

    def loss(self, x: Tensor, y: Tensor, state: State) -> tuple[Tensor, tuple[float, State]]:
        """Compute the mean loss of characters x and their next ones y, (T, B) each; it in nats, and the last state."""
        logits, after = self.model(x, state)
        loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        return loss, (loss.item(), tuple((h.detach(), c.detach()) for h, c in after))

    def measure(self, report_progress: Callable[[str], None] = lambda _: None) -> Outcome:
        """Measure the texts that are written after the last step; of a text of the user's own its entropy."""
        if self.own_text is not None:
            return self._measure_own_text(
                torch.from_numpy(self.own_text.tokens.astype(np.int64))[:, None], report_progress
            )
        report_progress("texts")
        x, _ = self.cut_windows(self.draw_places(self.total)[0])
        metrics, samples = self.texts.measure_final_texts(self.get_readable_model(), self.total - 1, x)
        return Outcome(metrics=metrics, samples=samples)

    @torch.no_grad()
    def _measure_own_text(self, text: Tensor, report_progress: Callable[[str], None]) -> Outcome:
        """Measure the cross-entropy of a text (n, 1), each character after all before it."""
        model, nats, n = self.get_readable_model(), 0.0, len(text) - 1
        state = model.initial_state(1)
        for first in range(0, n, _READ_LENGTH):
            report_progress(f"test text: {first / n:.0%}")
            last = min(first + _READ_LENGTH, n)
            logits, state = model(text[first:last], state)
            nats += functional.cross_entropy(logits[:, 0], text[first + 1 : last + 1, 0], reduction="sum").item()
        return Outcome(metrics=[make_metric("test", "cross_entropy", nats / n, "nats/character", n)])

    def compute_next_log_p(self, symbols: Tensor) -> Tensor:
        return compute_log_probabilities(self.get_readable_model(), symbols[:, None])[-1, 0]

    def draw_places(self, step: int) -> tuple[Tensor, Tensor]:
        """Return where the windows of a step begin, (B,) int64, and which of them begin anew."""
        B, T = self.options["batch_size"], self.options["length"]
        stream = (_STARTS,) if self.is_carried else (_OFFSETS, step)
        numbers = counters.draw_uniform32(counters.compute_key(self.seed, *stream), 0, B).astype(np.int64)
        # The product with a 32-bit number is exact in 64 bits: a book has less than 2**31 characters.
        places = torch.from_numpy(numbers) * self.places >> 32
        if not self.is_carried:
            return places, torch.ones(B, dtype=torch.bool)
        places = (places + step * T) % self.places
        return places, places < T if step else torch.ones(B, dtype=torch.bool)

    def cut_windows(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return characters and their next ones, (T, B) each."""
        spans = self.tokens[torch.arange(self.options["length"] + 1)[:, None] + places]
        return spans[:-1], spans[1:]

    def make_outcome(self) -> Outcome:
        """Report losses near every mark and of the last steps, and measures of the texts; see `BookTexts`.

        Mark k is step k * `table_every`, a row of the document's tables; its loss that of its NEIGHBOURS too.
        """
        losses = make_curve("train", "cross_entropy", "nats/character", "step", self.losses, list(self.losses.values()))
        series: dict[tuple[str, str, str], dict[int, float]] = {}
        for step, m in self.measures:
            series.setdefault((m["split"], m["metric"], m["unit"]), {})[step] = round(m["value"], 6)
        outcome = Outcome(
            curves=[losses, *(make_curve(*names, "step", y, list(y.values())) for names, y in series.items())]
        )
        outcome.samples = [*self.samples]
        if not self.finished:
            return outcome
        every, last = self.options["table_every"], self.total - 1
        marks = enumerate(range(0, self.total, every))
        near = {f"cross_entropy_mark_{k}": (s - NEIGHBOURS, s + NEIGHBOURS) for k, s in marks}
        near["final_cross_entropy"] = (last - 2 * NEIGHBOURS, last)
        outcome.metrics = [self._compute_mean_loss(name, *bounds) for name, bounds in near.items()]
        if self.source is not None:
            source = make_metric("train", "source_entropy", self.source, "nats/character", len(self.tokens))
            outcome.metrics.append(source)
        measured = self.measure()
        outcome.metrics += measured.metrics
        outcome.samples += measured.samples
        return outcome

    def _compute_mean_loss(self, name: str, first: int, last: int) -> dict[str, Any]:
        losses = [loss for step, loss in self.losses.items() if first <= step <= last]
        n = len(losses) * self.options["batch_size"] * self.options["length"]
        return make_metric("train", name, add_in_order(losses) / len(losses), "nats/character", n)
