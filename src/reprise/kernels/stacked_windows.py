"""The gated language models of document 001 as a stack: R replicas, one program a length of window.

Every replica reads the same windows of B streams; its parameters, its learning rate, its dropout, its clipping and its
way of reducing the loss are its own, and so are K and map. What a replica computes does not depend on the others, up
to how a batched product rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

import torch
from torch import Tensor

from reprise.engines.gated_step import share_of_one_word
from reprise.kernels.stacked import Stack, check_alike
from reprise.kernels.stacked_masks import StackedMasks, ladder_of
from reprise.kernels.stacked_matrices import window_blocks
from reprise.kernels.stacked_network import StackedNetwork
from reprise.kernels.stacked_programs import shaped
from reprise.models.gated import GatedLanguageModel, State

EVALUATED = 140
"""Steps of an evaluation's program."""


_numbers = count()


class WindowText:
    """Inputs and targets (2, n, B) int32 on the device, and for training the windows' blocks of equal matrices."""

    def __init__(self, x: Tensor, y: Tensor, device: torch.device, blocks: Sequence[Tensor]) -> None:
        # Programs read the text where it lies: no other text may ever go by its number.
        self.number = next(_numbers)
        self.words = torch.stack([x, y]).to(device)
        self.blocks = tuple(part.to(device) for part in blocks)

    def __len__(self) -> int:
        return self.words.shape[1]


class StackedWindows(Stack):
    """The engine of R readable models (all `GRU` or all `LSTM`) of equal sizes, in their dtype.

    Training is on windows of `steps` steps and `batch` streams, evaluation on one stream. `reductions` ("sum-steps" or
    "mean-steps"), `dropouts` and `clips` are those of the replicas.
    """

    def __init__(
        self,
        models: Sequence[GatedLanguageModel],
        reductions: Sequence[str],
        dropouts: Sequence[float],
        clips: Sequence[float],
        steps: int,
        batch: int,
        device: torch.device,
        capture: bool = True,
    ) -> None:
        check_alike([(type(m), m.vocabulary, m.embedding, m.hidden, m.E.dtype) for m in models])
        super().__init__(len(models), device, capture)
        self.models, self.steps, self.batch = models, steps, batch
        R, words, H = self.R, steps * batch, models[0].hidden
        self.evaluated = min(EVALUATED, words)
        with self.programs.stream(), torch.no_grad():
            self.network = StackedNetwork(models, words, batch, device)
            like, widths = self.network.p["E"], (models[0].embedding, H)
            self.laws = [StackedMasks(dropouts, device, like.dtype) for _ in widths]
            self.ladders = [ladder_of(words, width, device) for width in widths]
            self._masks = [like.new_zeros(R * words * width) for width in widths]
            self.carried = {b: [like.new_zeros(R, b, H) for _ in range(models[0].states)] for b in {batch, 1}}
            # The step and the window that come next.
            self.place, self.window = (torch.zeros(1, dtype=torch.int64, device=device) for _ in range(2))
            self.within = torch.arange(max(steps, self.evaluated), device=device)
            real = {"dtype": torch.float64, "device": device}
            shares = [[share_of_one_word(r, max(T, 1), batch) for r in reductions] for T in range(steps + 1)]
            self.shares, self.clips = torch.tensor(shares, **real), torch.tensor(clips, **real)
            self.rates = torch.zeros(R, **real)
        for replica, model in enumerate(models):
            self.load(replica, model.state_dict())
        self.streams = batch  # of the text that is read

    def named(self, replica: int) -> dict[str, Tensor]:
        return self.network.parameters.named(replica)

    def text(self, x: Tensor, y: Tensor) -> WindowText:
        """A text (n, B) on the device; with B = `batch` it can be trained on."""
        blocks: list[Tensor] = []
        if x.shape[1] == self.batch and not self.network.alike:
            blocks = [torch.from_numpy(part) for part in window_blocks(self.models, x.numpy(), self.steps)]
        with self.programs.stream():
            return WindowText(x, y, self.device, blocks)

    def begin(self, learning_rates: Sequence[float], keys: Sequence[tuple[int, int]]) -> None:
        """Learning rates, and keys of dropout of embeddings and softmax input, from now on. Rate 0 changes nothing."""
        with self.programs.stream(), torch.no_grad():
            self.rates.copy_(torch.tensor(learning_rates, dtype=torch.float64))
            for law, own in zip(self.laws, zip(*keys, strict=True), strict=True):
                law.set_keys(own)

    def reset(self, streams: int) -> None:
        """State zero for `streams` streams, which are read from now on."""
        self.streams = streams
        with self.programs.stream():
            for carried in self.carried[streams]:
                carried.zero_()

    @property
    def state(self) -> State:
        """The carried states (R, B, H), copies in the host's memory; assign to change them."""
        with self.programs.stream():
            return tuple(s.to("cpu", copy=True) for s in self.carried[self.streams])

    @state.setter
    def state(self, values: State) -> None:
        self.streams = values[0].shape[1]
        with self.programs.stream():
            for own, value in zip(self.carried[self.streams], values, strict=True):
                own.copy_(value)

    def train(self, text: WindowText, first: int, last: int) -> None:
        """A step a window over steps first .. last-1 of the text, `first` where a window begins."""
        self._over(text, first, last, self.steps, self._train_one)

    def evaluate(self, text: WindowText, first: int, last: int) -> None:
        """The losses of steps first .. last-1, without dropout and without steps."""
        self._over(text, first, last, self.evaluated, self._evaluate_one)

    @torch.no_grad()
    def _over(
        self, text: WindowText, first: int, last: int, steps: int, program: Callable[[WindowText, int], None]
    ) -> None:
        with self.programs.stream():
            self.place.fill_(first)
            self.window.fill_(first // steps)
            for start in range(first, last, steps):
                T = min(steps, last - start)
                self.programs.run((program.__name__, T, text.number), program, text, T)
            self.programs.mark()

    def _train_one(self, text: WindowText, T: int) -> None:
        """A program: the SGD step on the next window, of T steps."""
        n, network = T * self.batch, self.network
        on_e, on_s = (
            shaped(buffer, self.R, n, ladder.shape[1]) for buffer, ladder in zip(self._masks, self.ladders, strict=True)
        )
        for law, masks, ladder in zip(self.laws, (on_e, on_s), self.ladders, strict=True):
            law.fill(masks, ladder[:n], self.place * self.batch, 0)
        x, y = self._take(text, T)
        network.read(x, self.carried[self.batch], on_e)
        self.total.add_(network.losses(y, on_s))
        blocks = tuple(part.index_select(0, self.window).squeeze(0) for part in text.blocks)
        network.gradients(x, y, on_e, on_s, blocks)
        network.parameters.step(self.rates, self.shares[T], self.clips)
        self.window.add_(1)

    def _evaluate_one(self, text: WindowText, T: int) -> None:
        """A program: the losses of the next T steps."""
        x, y = self._take(text, T)
        self.network.read(x, self.carried[x.shape[1]], None)
        self.total.add_(self.network.losses(y, None))

    def _take(self, text: WindowText, T: int) -> tuple[Tensor, Tensor]:
        """The next T steps: words (T, B) and targets (T B,)."""
        taken = text.words.index_select(1, self.within[:T] + self.place).long()
        self.place.add_(T)
        return taken[0], taken[1].flatten()
