"""The palindrome task of document 002, part 1: read T-1 digits, predict the last, a fresh batch every step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from reprise.engines.palindromes.native import choose_engine
from reprise.options import COUNT, POSITIVE
from reprise.training.protocol import dtype_of
from reprise.training.protocols.palindromes_course import PalindromeCourse, first_model


class FinalDigit(PalindromeCourse):
    """Steps 0, 1, …, `steps` - 1: forward on a fresh batch, log every `log_every` steps, clip, Adam."""

    TRAINS = ("elman", "lstm")
    PREDICTED = "the last one of every palindrome"
    OPTIONS = {
        "steps": COUNT,
        "batch_size": COUNT,
        "optimiser": ("adam",),
        "learning_rate": POSITIVE,
        "clip_norm": POSITIVE,
        "log_every": COUNT,
    }
    GPU = True

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: str, device: torch.device):
        del corpus  # the batches are drawn as they are needed
        super().__init__(config, seed)
        self.device = device
        self.model = first_model(config["model"], seed).to(device=device, dtype=dtype_of(config))
        self.kernel = choose_engine(engine, self.model)
        self.engine = self.kernel.name
        self.parameters = sum(p.numel() for p in self.model.parameters())
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=self.learning_rate)

    def advance(self) -> str:
        """One step. Raises `Diverged` where the loss is not finite."""
        x, y = self.batch()
        x, y = x.to(self.device), y.to(self.device)
        loss, correct = self.kernel.loss_and_gradients(x, y)
        self.take([loss], [correct])
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options["clip_norm"])
        self.optimiser.step()
        return f"loss {self.loss:.4f} nats, accuracy {self.log['accuracy'][-1]:.3f}"

    def state(self) -> dict[str, Any]:
        return {
            **self.schedule_state(),
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.restore_schedule(state)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
