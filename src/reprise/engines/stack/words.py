"""Stacks of the models that read words and descend by plain SGD: of the vectors of words and the matrices of an r-RNTN
those that a step reads are gathered, so that its cost grows neither with the vocabulary's vectors nor with K.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise import counters
from reprise.engines.gated.reference import share_of_one_word
from reprise.engines.rntn.subsequences import MAX_LENGTH, Subsequences
from reprise.engines.stack.family import Family, distinct
from reprise.engines.stack.optimisers import SGD, Clip
from reprise.engines.stack.programs import Tensors
from reprise.engines.stack.stack import Member, Stack
from reprise.models.gated import GRU, LSTM, GatedLanguageModel, Masks, State
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN
from reprise.models.window import WindowModel


class SubsequenceFamily(Family):
    """s-RNN, r-RNTN and m-RNN, one subsequence a step, the state carried from one to the next.

    Members read the same text. A request is a stretch of it, of which no number is looked at before its end. Of a class
    that inherits from these, or is another, which may read its parameters in ways of its own, nothing is gathered.
    """

    def __init__(self, model: nn.Module, reduction: str) -> None:
        super().__init__(model, SGD(), reduction=reduction)
        self.V, self.first = len(model.W_h), model.initial_state()
        self.matrix_index, self.K, self.of_word, self.of_matrix = None, 0, (), ()
        if type(model) is RNTN:
            self.matrix_index, self.K = model.matrix_index, model.matrices
            self.of_word, self.of_matrix = ("W_h",), ("U_h", "b_h") if model.bias == "matrix" else ("U_h",)
            # A word is read as its place in the subsequence: each has the row and the matrix that were gathered for it.
            self.readable.model.matrices, self.readable.model.mapping = MAX_LENGTH, "f"
        elif type(model) is MRNN:
            self.of_word = ("W_h", "v")
        self.rows = {name: "words" for name in self.of_word} | {name: "matrices" for name in self.of_matrix}

    def expanded(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """See `Family`: a row and a matrix for every place of the subsequence."""
        word, matrix = batch.get("word"), batch.get("matrix")
        return (
            parameters
            | {name: parameters[name][word] for name in self.of_word}
            | {name: parameters[name][matrix] for name in self.of_matrix}
        )

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Family`."""
        y = batch["y"]
        x = torch.arange(len(y), device=y.device) if self.of_word else batch["x"]
        logits, h = model(x, batch["h"], batch.get("mask"))
        nats = functional.cross_entropy(logits, y, reduction="sum")
        return nats / len(y) if self.options["reduction"] == "mean" else nats, {"nats": nats, "h": h}

    def signature(self, batch: Mapping[str, Any]) -> Hashable:
        """See `Family`: the same stretch of the text."""
        data = batch["data"]
        arrays = (data.inputs, data.offsets, data.reset)
        return bool(batch["dropout"]), data.first_token, *(hash(array.tobytes()) for array in arrays)

    def answer(self, stack: Stack, mode: str, batches: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
        """See `Family`: one step a subsequence."""
        some = next(iter(batches.values()))
        data: Subsequences = some["data"]
        every = [batches.get(slot, some) for slot in range(len(stack.members))]
        like, R = stack.parameters["W_h"], len(every)
        h = torch.stack([batch["h"].to(like) for batch in every])
        first = self.first.to(like).expand(R, -1)
        masks = self._masks(stack, every, like) if some["dropout"] else None
        x, y = (torch.from_numpy(a.astype(np.int64)).to(stack.device) for a in (data.inputs, data.targets))
        lists = [
            self._lists(data.inputs[begin:end]) for begin, end in zip(data.offsets, data.offsets[1:], strict=False)
        ]
        names = list(lists[0]) if lists else []
        # one transfer a list, not one a subsequence
        ends = {name: np.cumsum([0] + [len(some[name]) for some in lists]) for name in names}
        flat = {name: torch.from_numpy(np.concatenate([some[name] for some in lists])).to(x) for name in names}
        rates = {slot: batch.get("rate", 0.0) for slot, batch in batches.items()}
        nats = torch.zeros(R, dtype=torch.float64, device=stack.device)
        for i in range(len(data)):
            begin, end = int(data.offsets[i]), int(data.offsets[i + 1])
            inputs = {name: flat[name][ends[name][i] : ends[name][i + 1]].expand(R, -1) for name in names}
            inputs |= {"y": y[begin:end].expand(R, -1), "h": first if data.reset[i] else h}
            if not self.of_word:
                inputs["x"] = x[begin:end].expand(R, -1)
            if masks is not None:
                inputs["mask"] = masks[:, begin:end]
            found = stack.run_collated(mode, inputs, list(batches), rates)
            h = found["h"]
            nats += found["nats"]
        told = nats.tolist()
        return {slot: {"nats": told[slot], "h": h[slot]} for slot in batches}

    def _lists(self, words: np.ndarray) -> dict[str, np.ndarray]:
        """Which rows a subsequence reads, and which of these its words are; the same of the matrices."""
        lists = dict(zip(("words", "word"), distinct(words, self.V), strict=True)) if self.of_word else {}
        if self.matrix_index is not None:
            k = self.matrix_index(torch.from_numpy(words.astype(np.int64))).numpy()
            lists |= dict(zip(("matrices", "matrix"), distinct(k, self.K), strict=True))
        return {name: value.numpy() for name, value in lists.items()}

    def _masks(self, stack: Stack, every: list[Mapping[str, Any]], like: Tensor) -> Tensor:
        """Dropout masks of the whole stretch, (R, tokens, H)."""
        masks = []
        for batch in every:
            place = batch["key"], batch["data"].first_token, batch["data"].tokens, len(self.first), batch["dropout"]
            masks.append(counters.dropout_mask_torch(*place, stack.device, like.dtype))
        return torch.stack(masks)


class SubsequenceMember(Member):
    """A `SubsequenceEngine`."""

    def __init__(self, stack: Stack, model: nn.Module, reduction: str) -> None:
        super().__init__(stack, SubsequenceFamily(model, reduction), model)
        self.hidden = model.initial_state()

    def train(self, data: Subsequences, *, learning_rate: float, reduction: str, dropout: float, key: int) -> float:
        """See `SubsequenceEngine`."""
        if reduction != self.family.options["reduction"]:
            raise ValueError(f"this stack reduces losses by {self.family.options['reduction']}, not {reduction}")
        return self._go_on("train", data, rate=learning_rate, dropout=dropout, key=key)

    def evaluate(self, data: Subsequences) -> float:
        """See `SubsequenceEngine`."""
        return self._go_on("read", data, dropout=0.0, key=0)

    def _go_on(self, mode: str, data: Subsequences, **how: Any) -> float:
        found = self.ask(mode, data=data, h=self.hidden, **how)
        self.hidden = found["h"]
        return found["nats"]


class GatedFamily(Family):
    """GRU and LSTM language models and their restricted tensor networks: windows of T steps of B streams.

    Of a class that inherits from these nothing is gathered, as in `SubsequenceFamily`.
    """

    def __init__(self, model: GatedLanguageModel, reduction: str, clip_norm: float) -> None:
        super().__init__(model, SGD(), Clip(clip_norm), reduction=reduction)
        self.V, self.K, self.states, self.matrix_index = (
            model.vocabulary,
            model.matrices,
            model.states,
            model.matrix_index,
        )
        gathers = type(model) in (GRU, LSTM)
        self.of_matrix = (f"U_h{model.candidate}", f"b_h{model.candidate}") if gathers and self.K > 1 else ()
        self.rows = ({"E": "words"} if gathers else {}) | dict.fromkeys(self.of_matrix, "matrices")
        if self.of_matrix:  # a word is read as its number among those of the window; each of these has its matrix
            self.readable.model.matrices, self.readable.model.mapping = model.vocabulary, "f"

    def expanded(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """See `Family`: a matrix for every distinct word."""
        return parameters | {name: parameters[name][batch["matrix"]] for name in self.of_matrix}

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Family`."""
        y, state = batch["y"], tuple(batch[f"state_{i}"] for i in range(self.states))
        masks = (batch["mask_E"], batch["mask_H"]) if "mask_E" in batch else None
        logits, after = model(batch["x"], state, masks)
        nats = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        found = {"nats": nats} | {f"state_{i}": s for i, s in enumerate(after)}
        return nats * share_of_one_word(self.options["reduction"], *y.shape), found

    def lists(self, x: Tensor) -> dict[str, Tensor]:
        """Words x (T, B) as their numbers among the distinct ones, the rows of these, and their matrices."""
        if not self.rows:
            return {"x": x}
        words, places = distinct(x.cpu().numpy(), self.V)
        lists = {"words": words, "x": places}
        if self.of_matrix:
            matrices, lists["matrix"] = distinct(self.matrix_index(words.clamp(min=0)).numpy(), self.K)
            lists["matrices"] = matrices
        return lists


class GatedMember(Member):
    """A `GatedEngine`."""

    def __init__(self, stack: Stack, model: GatedLanguageModel, reduction: str, clip_norm: float) -> None:
        super().__init__(stack, GatedFamily(model, reduction, clip_norm), model)
        self.zeros = model.initial_state
        self.state: State = ()

    def reset(self, batch: int) -> None:
        """See `GatedEngine`."""
        self.state = self.zeros(batch)

    def train(
        self, x: Tensor, y: Tensor, masks: Masks | None, *, learning_rate: float, reduction: str, clip_norm: float
    ) -> float:
        """See `GatedEngine`."""
        if (reduction, clip_norm) != (self.family.options["reduction"], self.family.clip.norm):
            raise ValueError("reduction and clip_norm of a stack are those that it was made with")
        more = {} if masks is None else {"mask_E": masks[0], "mask_H": masks[1]}
        return self._go_on("train", x, y, rate=learning_rate, **more)

    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """See `GatedEngine`."""
        return self._go_on("read", x, y)

    def _go_on(self, mode: str, x: Tensor, y: Tensor, **more: Any) -> float:
        # A request's tensors lie where the state is that the last answer gave.
        state = {f"state_{i}": s for i, s in enumerate(self.state)}
        found = self.ask(mode, **self.family.lists(x), y=y, **state, **more)
        self.state = tuple(found[f"state_{i}"] for i in range(self.family.states))
        return float(found["nats"])


class WindowFamily(Family):
    """The window-based model: B windows of n words."""

    rows: ClassVar[dict[str, str]] = {"E": "words"}

    def __init__(self, model: WindowModel, clip_norm: float) -> None:
        super().__init__(model, SGD(), Clip(clip_norm))
        self.V = model.vocabulary

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Family`."""
        nats = functional.cross_entropy(model(batch["x"]), batch["y"], reduction="sum")
        return nats / len(batch["y"]), {"nats": nats}


class WindowMember(Member):
    """A `WindowEngine` of the window-based model."""

    def __init__(self, stack: Stack, model: WindowModel, clip_norm: float) -> None:
        super().__init__(stack, WindowFamily(model, clip_norm), model)

    def train(self, x: Tensor, y: Tensor, *, learning_rate: float, clip_norm: float) -> float:
        """See `WindowEngine`."""
        if clip_norm != self.family.clip.norm:
            raise ValueError("clip_norm of a stack is that which it was made with")
        return self._read("train", x, y, rate=learning_rate)

    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """See `WindowEngine`."""
        return self._read("read", x, y)

    def _read(self, mode: str, x: Tensor, y: Tensor, **more: Any) -> float:
        words, places = distinct(x.numpy(), self.family.V)
        return float(self.ask(mode, words=words, x=places, y=y.long(), **more)["nats"])
