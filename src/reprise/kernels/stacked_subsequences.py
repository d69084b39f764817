"""The batch-1 language models of document 001 as a stack: R replicas, one program a length of subsequence.

Every replica reads the same subsequences; its parameters, its learning rate, its dropout and its way of reducing the
loss are its own, and so are K, map and biases. What a replica computes does not depend on the others, up to how a
batched product rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from reprise.engines.rntn.subsequences import Subsequences
from reprise.kernels.stacked import Stack, check_alike
from reprise.kernels.stacked_masks import StackedMasks
from reprise.kernels.stacked_output import StackedOutput
from reprise.kernels.stacked_rntn import WordTable, recurrences_of
from reprise.kernels.stacked_text import DeviceText, Rows, Stage

CAPACITY = 4096
"""Words that are staged at a time."""


class StackedSubsequences(Stack):
    """The engine of R readable models (all `RNTN` or all `MRNN`) of equal V, H and factors, in their dtype.

    `reductions` ("sum" or "mean") and `dropouts` are those of the replicas; `longest` is the longest subsequence.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        reductions: Sequence[str],
        dropouts: Sequence[float],
        longest: int,
        device: torch.device,
        capture: bool = True,
        capacity: int = CAPACITY,
    ) -> None:
        check_alike([(type(m), m.vocabulary, m.hidden, getattr(m, "factors", 0), m.W_h.dtype) for m in models])
        super().__init__(len(models), device, capture)
        R, V, H, self.capacity = self.R, models[0].vocabulary, models[0].hidden, capacity
        with self.programs.stream(), torch.no_grad():
            like = torch.zeros(1, dtype=models[0].W_h.dtype, device=device)
            self.W_h = WordTable(V, R, H, longest, like)
            self.recurrences = recurrences_of(models, longest, like)
            self.output = StackedOutput(R, V, H, longest, like)
            words = Rows(torch.arange(V, device=device)[None], V)
            masks = StackedMasks(dropouts, device, like.dtype)
            self.stage = Stage([words, *self.recurrences.rows], masks, H, longest, capacity, like.dtype)
            self.h, self.dz = like.new_zeros(longest + 1, R, H), like.new_zeros(longest, R, H)
            # A subsequence begins with the first where the state is carried, with the second where it is reset.
            h_0 = torch.tensor([m.h_0 for m in models], dtype=like.dtype, device=device)[:, None].expand(R, H)
            self.starts = torch.stack([h_0, h_0])
            self.shares = torch.stack([share_of_one_word(reduction, longest) for reduction in reductions], 1)
            self.rates = like.new_zeros(longest + 1, R)  # what a subsequence's gradient is multiplied by, by its length
            self.logp = like.new_zeros(capacity, R)
        for replica, model in enumerate(models):
            self.load(replica, model.state_dict())

    def named(self, replica: int) -> dict[str, Tensor]:
        parts = (self.recurrences.named(replica), self.output.named(replica))
        return {"W_h": self.W_h.table[:-1, replica], **parts[0], **parts[1]}

    def text(self, data: Subsequences) -> DeviceText:
        """A text on the device."""
        with self.programs.stream():
            return DeviceText(data, self.device)

    def begin(self, learning_rates: Sequence[float], keys: Sequence[int]) -> None:
        """Learning rates and keys of dropout from now on. A replica whose learning rate is 0 does not change."""
        with self.programs.stream(), torch.no_grad():
            self.rates.copy_(-self.shares * torch.tensor(learning_rates, dtype=torch.float64))
            self.stage.law.set_keys(keys)

    def train(self, text: DeviceText, first: int, last: int) -> None:
        """One SGD step a subsequence, first .. last-1, with at most `capacity` words."""
        self._over(text, first, last, True)

    def evaluate(self, text: DeviceText, first: int, last: int) -> None:
        """The same without dropout and without steps."""
        self._over(text, first, last, False)

    @property
    def hidden(self) -> Tensor:
        """The carried states (R, H), a copy in the host's memory; assign to change them."""
        with self.programs.stream():
            return self.starts[0].to("cpu", copy=True)

    @hidden.setter
    def hidden(self, value: Tensor) -> None:
        with self.programs.stream():
            self.starts[0].copy_(value)

    @torch.no_grad()
    def _over(self, text: DeviceText, first: int, last: int, training: bool) -> None:
        with self.programs.stream():
            n = self.stage.fill(text, first, last, training)
            program = self._train_one if training else self._evaluate_one
            for T in text.lengths[first:last]:
                self.programs.run((training, T), program, T)
            self.total.sub_(self.logp[:n].sum(0, dtype=torch.float64))
            self.programs.mark()

    def _train_one(self, T: int) -> None:
        """A program: the SGD step on the next subsequence, of T words."""
        h = self._read(T, True)
        rates, dz = self.rates[T], self.dz[:T]
        self.output.derivative(T, self.stage.targets, dz)
        with self.programs.beside():
            self.output.step(T, rates)
        dz.mul_(self.stage.masks)
        self.W_h.step(self.stage, self.recurrences.backward(T, self.stage, h, dz, rates))
        self.programs.join()

    def _evaluate_one(self, T: int) -> None:
        """A program: the losses of the next subsequence, of T words."""
        self._read(T, False)

    def _read(self, T: int, training: bool) -> Tensor:
        """States h (T + 1, R, H) over the next T words; their log-probabilities go to `logp`."""
        stage, h = self.stage, self.h[: T + 1]
        stage.take(T, training)
        torch.index_select(self.starts, 0, stage.start, out=h[:1])
        h[1:].copy_(self.W_h.take(stage))
        self.recurrences.forward(T, stage, h)
        self.starts[0].copy_(h[T])
        masks = stage.masks if training else None
        self.logp.index_copy_(0, stage.positions, self.output.log_probabilities(T, h[1:], masks, stage.targets))
        return h


def share_of_one_word(reduction: str, longest: int) -> Tensor:
    """What a word's loss counts in a subsequence of 0, 1 .. `longest` words, float64."""
    if reduction not in ("sum", "mean"):
        raise ValueError(f"reduction must be sum or mean, not {reduction}")
    lengths = torch.arange(longest + 1, dtype=torch.float64)
    return 1 / lengths.clamp(min=1) if reduction == "mean" else torch.ones_like(lengths)
