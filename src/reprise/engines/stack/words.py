"""Stacks of the models that read words and descend by plain SGD.

A step gathers the vectors of words and the matrices of an r-RNTN that it reads, so that its cost grows neither with the
vocabulary's vectors nor with K.

Of a class that inherits from those named here, which may read its parameters in ways of its own, nothing is gathered.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise import counters
from reprise.engines.gated.reference import GatedWindows
from reprise.engines.lecture.window import WordWindows
from reprise.engines.rntn.subsequences import MAX_LENGTH, Subsequences
from reprise.engines.stack.gated import SHARED_PRODUCTS
from reprise.engines.stack.member import Member, Request, distinct
from reprise.engines.stack.programs import Tensors
from reprise.models.gated import GatedLanguageModel
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN


class SubsequenceMember(Member):
    """s-RNN, r-RNTN and m-RNN, one subsequence a step, the state carried from one to the next.

    Members read the same text. A batch is a stretch of it, of which no number is looked at before its end.
    """

    def __init__(self, stack: Any, model: nn.Module, *how: Any, **options: Any) -> None:
        super().__init__(stack, model, *how, **options)
        self.V, self.first = len(model.W_h), model.initial_state()
        self.matrix_index, self.K, self.of_word, self.of_matrix = None, 0, (), ()
        if type(model) is RNTN:
            self.matrix_index, self.K = model.matrix_index, model.matrices
            self.of_word, self.of_matrix = ("W_h",), ("U_h", "b_h") if model.bias == "matrix" else ("U_h",)
            # A word is read as its place in the subsequence: each has the row and the matrix that were gathered for it.
            self.readable.model.matrices, self.readable.model.mapping = MAX_LENGTH, "f"
        elif type(model) is MRNN:
            self.of_word = ("W_h", "v")
        self.rows = dict.fromkeys(self.of_word, "words") | dict.fromkeys(self.of_matrix, "matrices")
        self.hidden = self.first

    def expanded(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """See `Member`: a row and a matrix for every place of the subsequence."""
        word = {name: parameters[name][batch["word"]] for name in self.of_word}
        return parameters | word | {name: parameters[name][batch["matrix"]] for name in self.of_matrix}

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Member`."""
        y = batch["y"]
        x = torch.arange(len(y), device=y.device) if self.of_word else batch["x"]
        logits, h = model(x, batch["h"], batch.get("mask"))
        nats = functional.cross_entropy(logits, y, reduction="sum")
        return nats / len(y) if self.options["reduction"] == "mean" else nats, {"nats": nats, "h": h}

    def signature(self, batch: Mapping[str, Any]) -> Hashable:
        """See `Member`: the same stretch of the text."""
        data = batch["data"]
        arrays = (data.inputs, data.offsets, data.reset)
        return bool(batch["dropout"]), data.first_token, *(hash(array.tobytes()) for array in arrays)

    def answer(self, mode: str, batches: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
        """See `Member`: one step a subsequence."""
        stack, some = self.stack, next(iter(batches.values()))
        data: Subsequences = some["data"]
        every = [batches.get(slot, some) for slot in range(len(stack.members))]
        like, R = stack.parameters["W_h"], len(every)
        h = torch.stack([batch["h"].to(like) for batch in every])
        first = self.first.to(like).expand(R, -1)
        masks = None
        if some["dropout"]:  # (R, tokens, H)
            place = data.first_token, data.tokens, len(self.first), some["dropout"], like.device, like.dtype
            masks = torch.stack([counters.dropout_mask_torch(batch["key"], *place) for batch in every])
        x, y = (torch.from_numpy(a.astype(np.int64)).to(stack.device) for a in (data.inputs, data.targets))
        bounds = list(zip(data.offsets.tolist(), data.offsets[1:].tolist(), strict=False))
        lists = [self._lists(data.inputs[begin:end]) for begin, end in bounds]
        # one transfer a list, not one a subsequence
        flat = {name: torch.cat([some[name] for some in lists]).to(x) for name in (lists[0] if lists else ())}
        parts = {name: values.split([len(some[name]) for some in lists]) for name, values in flat.items()}
        rates = {slot: batch.get("rate", 0.0) for slot, batch in batches.items()}
        nats = torch.zeros(R, dtype=torch.float64, device=stack.device)
        for i, (begin, end) in enumerate(bounds):
            inputs = {name: part[i].expand(R, -1) for name, part in parts.items()}
            inputs |= {"y": y[begin:end].expand(R, -1), "h": first if data.reset[i] else h}
            if not self.of_word:
                inputs["x"] = x[begin:end].expand(R, -1)
            if masks is not None:
                inputs["mask"] = masks[:, begin:end]
            outputs = stack.run(mode, inputs, rates)
            h = outputs["h"]
            nats += outputs["nats"]
        totals = nats.tolist()
        return {slot: {"nats": totals[slot], "h": h[slot]} for slot in batches}

    def _lists(self, words: np.ndarray) -> Tensors:
        """List the rows and matrices that a subsequence reads, and the places of its words among them."""
        lists = dict(zip(("words", "word"), distinct(words, self.V), strict=True)) if self.of_word else {}
        if self.matrix_index is not None:
            k = self.matrix_index(torch.from_numpy(words.astype(np.int64))).numpy()
            lists |= dict(zip(("matrices", "matrix"), distinct(k, self.K), strict=True))
        return lists

    def train(
        self,
        data: Subsequences,
        *,
        learning_rate: float,
        reduction: str,
        dropout: float,
        key: int,
        error_bound: float = 0.0,
    ) -> Request:
        """Request what the reference engine computes; `reduction` is that which the member was made with."""
        return self._go_on("train", data, rate=learning_rate, dropout=dropout, key=key)

    def evaluate(self, data: Subsequences) -> Request:
        """Request what the reference engine computes."""
        return self._go_on("read", data, dropout=0.0, key=0)

    def _go_on(self, mode: str, data: Subsequences, **how: Any) -> Request:
        return self.perform(mode, self._carry_on, data=data, h=self.hidden, **how)

    def _carry_on(self, outputs: Mapping[str, Any]) -> float:
        self.hidden = outputs["h"]
        return outputs["nats"]


class GatedMember(GatedWindows, Member):
    """GRU and LSTM language models and their restricted tensor networks: windows of T steps of B streams.

    Of another model, which may have neither embeddings nor gates, nothing is gathered. `reduction` and `clip_norm` are
    those which the member was made with.
    """

    def __init__(self, stack: Any, model: GatedLanguageModel, *how: Any, **options: Any) -> None:
        super().__init__(stack, model, *how, **options)
        self.device, self.zeros, self.of_matrix = stack.device, model.initial_state, ()
        self.forward = SHARED_PRODUCTS.get(type(model), type(model).__call__)
        if type(model) not in SHARED_PRODUCTS:
            return
        self.V, self.K, self.matrix_index = model.vocabulary, model.matrices, model.matrix_index
        if self.K > 1:  # a word is read as its number among those of the window; each of these has its matrix
            self.of_matrix = f"U_h{model.candidate}", f"b_h{model.candidate}"
            self.readable.model.matrices, self.readable.model.mapping = model.vocabulary, "f"
        self.rows = {"E": "words"} | dict.fromkeys(self.of_matrix, "matrices")

    def expanded(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """See `Member`: a matrix for every distinct word."""
        return parameters | {name: parameters[name][batch["matrix"]] for name in self.of_matrix}

    def lists(self, x: Tensor) -> Tensors:
        """Return words x (T, B) as their numbers among the distinct ones, the rows of these, and their matrices."""
        if not self.rows:
            return {"x": x}
        words, places = distinct(x.cpu().numpy(), self.V)
        lists = {"words": words, "x": places}
        if self.of_matrix:
            k = self.matrix_index(words.clamp(min=0)).numpy()
            lists |= dict(zip(("matrices", "matrix"), distinct(k, self.K), strict=True))
        return lists


class WindowMember(WordWindows, Member):
    """The window-based model: B windows of n words. `clip_norm` is that which the member was made with."""

    rows: ClassVar[dict[str, str]] = {"E": "words"}

    def lists(self, x: Tensor) -> Tensors:
        """Return words (B, n) as their numbers among the distinct ones, and the rows of these."""
        return dict(zip(("words", "x"), distinct(x.numpy(), self.readable.model.vocabulary), strict=True))
