"""Training of document 002, question 2.1: windows of a book's characters from random places, RMSProp, texts meanwhile.

What the document leaves open is as in its author's code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from reprise.engines.books.layerwise import choose_window_engine
from reprise.models.deep_lstm import State
from reprise.options import COUNT, NATURAL, NOT_NEGATIVE, POSITIVE, SHARE, Number
from reprise.training.protocol import dtype_of, load_corpus
from reprise.training.protocols.books_course import BookCourse
from reprise.training.rmsprop import FIRST_MEAN_SQUARES, TensorFlowRMSProp, clip_by_global_norm


class CharacterWindows(BookCourse):
    """Steps 0, 1, …, `steps` - 1 on `batch_size` windows of `length` characters, each of which predicts the next.

    `window_state` zero: windows begin anywhere, drawn with replacement, and are read from a zero state. carried: each
    of the streams begins at a random place and goes on where its last window ended, with its state; at the end of the
    book it goes on from the beginning, from zero.
    """

    TRAINS = ("stacked-lstm",)
    PREDICTED = "{length} of every window, all but its first; of a text that the model writes, all that it writes"
    OPTIONS = {
        "batch_size": COUNT,
        "length": COUNT,
        "window_state": ("zero", "carried"),
        "steps": COUNT,
        "learning_rate": POSITIVE,
        "decay": SHARE,
        "epsilon": NOT_NEGATIVE,
        "mean_square_start": ("one", "zero"),
        "clip_norm": POSITIVE,
        # Some step is logged within the hundred steps around every mark.
        "log_every": Number(int, at_least=1, at_most=100),
        "sample_every": COUNT,
        "table_every": COUNT,
        "samples": COUNT,
        "sample_length": COUNT,
        "final_length": COUNT,
        "completions": NATURAL,
        "temperature": POSITIVE,
    }

    steps_at_once = 16  # a call of `advance`: about half a second

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del device  # texts are drawn and measured on the CPU, which trains as fast as they are needed
        super().__init__(config, seed, load_corpus(corpus), corpus, dtype_of(config))
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.kernel = choose_window_engine(engine, self.model)
        self.engine = self.kernel.name
        self.optimiser = TensorFlowRMSProp(
            self.model.parameters(),
            learning_rate=self.learning_rate,
            decay=self.options["decay"],
            epsilon=self.options["epsilon"],
            start=FIRST_MEAN_SQUARES[self.options["mean_square_start"]],
        )
        self.carried: State = self.model.initial_state(self.options["batch_size"])

    def advance(self) -> str:
        """Some steps. Raises `Diverged` where a loss is not finite."""
        for _ in range(min(self.steps_at_once, self.total - self.step)):
            loss = self._train()
            self.take([loss])
            self.write_texts()
        return f"loss {loss:.4f} nats/character"

    def _train(self) -> float:
        places, fresh = self.places_of(self.step)
        state = self.model.initial_state(len(places))
        if self.carries:
            keep = (~fresh)[:, None].to(state[0][0].dtype)
            state = tuple((h * keep, c * keep) for h, c in self.carried)
        x, y = self.windows(places)
        loss, self.carried = self.kernel.loss_and_gradients(x, y, state)
        clip_by_global_norm(self.model.parameters(), self.options["clip_norm"])
        self.optimiser.step()
        return loss

    def state(self) -> dict[str, Any]:
        return {
            **self.schedule_state(),
            "model": {name: value.clone() for name, value in self.model.state_dict().items()},
            "mean_squares": self.optimiser.state(),
            "carried": [part.clone() for pair in self.carried for part in pair],
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.restore_schedule(state)
        self.model.load_state_dict(state["model"])
        self.optimiser.restore(state["mean_squares"])
        self.carried = tuple(zip(state["carried"][::2], state["carried"][1::2], strict=True))
