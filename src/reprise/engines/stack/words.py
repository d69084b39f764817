"""Stacks of the models that read words and descend by plain SGD.

A step gathers the vectors of words and the matrices of an r-RNTN that it reads. So its cost grows neither with the
vocabulary's vectors nor with K.

For a subclass of the models named here nothing is gathered: it may read its parameters in ways of its own.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise import counters
from reprise.engines.gated.reference import GatedLoss
from reprise.engines.lecture.window import WindowLoss
from reprise.engines.rntn.subsequences import MAX_LENGTH, SGDSettings, Subsequences
from reprise.engines.stack.gated import SHARED_PRODUCTS
from reprise.engines.stack.member import Member, Request, find_distinct
from reprise.engines.stack.programs import Tensors
from reprise.models.gated import GatedLanguageModel
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN


class SubsequenceMember(Member):
    """s-RNN, r-RNTN and m-RNN, one subsequence a step, the state carried from one to the next.

    Members read the same text. A batch is a stretch of it; its losses are copied to the CPU once, at its end.
    """

    def __init__(self, stack: Any, model: nn.Module, *arguments: Any, **options: Any) -> None:
        super().__init__(stack, model, *arguments, **options)
        self.V, self.h_0 = len(model.W_h), model.initial_state()
        self.choose_matrices, self.K, self.word_tables, self.matrix_tables = None, 0, (), ()
        if type(model) is RNTN:
            self.choose_matrices, self.K = model.choose_matrices, model.matrices
            self.word_tables, self.matrix_tables = ("W_h",), ("U_h", "b_h") if model.bias == "matrix" else ("U_h",)
            # A word is read as its place in the subsequence: each has the row and the matrix that were gathered for it.
            self.readable.model.matrices, self.readable.model.mapping = MAX_LENGTH, "f"
        elif type(model) is MRNN:
            self.word_tables = ("W_h", "v")
        self.rows = dict.fromkeys(self.word_tables, "words") | dict.fromkeys(self.matrix_tables, "matrices")
        self.hidden = self.h_0

    def expand_rows(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """See `Member`: a row and a matrix for every place of the subsequence."""
        word = {name: parameters[name][batch["word"]] for name in self.word_tables}
        return parameters | word | {name: parameters[name][batch["matrix"]] for name in self.matrix_tables}

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Member`."""
        y = batch["y"]
        x = torch.arange(len(y), device=y.device) if self.word_tables else batch["x"]
        logits, h = model(x, batch["h"], batch.get("mask"))
        nats = functional.cross_entropy(logits, y, reduction="sum")
        return nats / len(y) if self.options["reduction"] == "mean" else nats, {"nats": nats, "h": h}

    def make_signature(self, batch: Mapping[str, Any]) -> Hashable:
        """See `Member`: the same stretch of the text."""
        data = batch["data"]
        arrays = (data.inputs, data.offsets, data.reset)
        return bool(batch["dropout"]), data.first_token, *(hash(array.tobytes()) for array in arrays)

    def compute_batches(self, mode: str, batches: Mapping[int, Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
        """See `Member`: one step a subsequence."""
        stack, example = self.stack, next(iter(batches.values()))
        data: Subsequences = example["data"]
        slot_batches = [batches.get(slot, example) for slot in range(len(stack.members))]
        like, R = stack.parameters["W_h"], len(slot_batches)
        h = torch.stack([batch["h"].to(like) for batch in slot_batches])
        h_0 = self.h_0.to(like).expand(R, -1)
        masks = None
        if example["dropout"]:  # (R, tokens, H)
            arguments = data.first_token, data.token_count, len(self.h_0), example["dropout"], like.device, like.dtype
            masks = torch.stack([counters.draw_dropout_mask_torch(batch["key"], *arguments) for batch in slot_batches])
        x, y = (torch.from_numpy(a.astype(np.int64)).to(stack.device) for a in (data.inputs, data.targets))
        bounds = list(zip(data.offsets.tolist(), data.offsets[1:].tolist(), strict=False))
        lists = [self._list_rows(data.inputs[begin:end]) for begin, end in bounds]
        # One transfer for all subsequences' lists of a name, not one for each subsequence.
        flat = {name: torch.cat([rows[name] for rows in lists]).to(x) for name in (lists[0] if lists else ())}
        parts = {name: values.split([len(rows[name]) for rows in lists]) for name, values in flat.items()}
        rates = {slot: batch.get("rate", 0.0) for slot, batch in batches.items()}
        nats = torch.zeros(R, dtype=torch.float64, device=stack.device)
        for i, (begin, end) in enumerate(bounds):
            inputs = {name: part[i].expand(R, -1) for name, part in parts.items()}
            inputs |= {"y": y[begin:end].expand(R, -1), "h": h_0 if data.reset[i] else h}
            if not self.word_tables:
                inputs["x"] = x[begin:end].expand(R, -1)
            if masks is not None:
                inputs["mask"] = masks[:, begin:end]
            outputs = stack.run_step(mode, inputs, rates)
            h = outputs["h"]
            nats += outputs["nats"]
        totals = nats.tolist()
        return {slot: {"nats": totals[slot], "h": h[slot]} for slot in batches}

    def _list_rows(self, words: np.ndarray) -> Tensors:
        """List the rows and matrices that a subsequence reads, and the places of its words among them."""
        lists = dict(zip(("words", "word"), find_distinct(words, self.V), strict=True)) if self.word_tables else {}
        if self.choose_matrices is not None:
            k = self.choose_matrices(torch.from_numpy(words.astype(np.int64))).numpy()
            lists |= dict(zip(("matrices", "matrix"), find_distinct(k, self.K), strict=True))
        return lists

    def train(self, data: Subsequences, settings: SGDSettings) -> Request:
        """Request what the reference engine computes; the reduction is that which the member was made with."""
        rates = {"rate": settings.learning_rate, "dropout": settings.dropout, "key": settings.key}
        return self._process_subsequences("train", data, **rates)

    def evaluate(self, data: Subsequences) -> Request:
        """Request what the reference engine computes."""
        return self._process_subsequences("read", data, dropout=0.0, key=0)

    def _process_subsequences(self, mode: str, data: Subsequences, **rates: Any) -> Request:
        return self.process_batch(mode, self._keep_state, data=data, h=self.hidden, **rates)

    def _keep_state(self, outputs: Mapping[str, Any]) -> float:
        self.hidden = outputs["h"]
        return outputs["nats"]


class GatedMember(GatedLoss, Member):
    """GRU and LSTM language models and their restricted tensor networks: windows of T steps of B streams.

    Of another model, which may have neither embeddings nor gates, nothing is gathered. Only `clip_norm` is
    fixed when the member is made.
    """

    def __init__(self, stack: Any, model: GatedLanguageModel, *arguments: Any, **options: Any) -> None:
        super().__init__(stack, model, *arguments, **options)
        self.device, self.make_initial_state, self.matrix_tables = stack.device, model.initial_state, ()
        if type(model) not in SHARED_PRODUCTS:
            return
        self.forward = SHARED_PRODUCTS[type(model)]
        self.V, self.K, self.choose_matrices = model.vocabulary, model.matrices, model.choose_matrices
        if self.K > 1:  # a word is read as its number among those of the window; each of these has its matrix
            self.matrix_tables = f"U_h{model.candidate}", f"b_h{model.candidate}"
            self.readable.model.matrices, self.readable.model.mapping = model.vocabulary, "f"
        self.rows = {"E": "words"} | dict.fromkeys(self.matrix_tables, "matrices")

    def expand_rows(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """See `Member`: a matrix for every distinct word."""
        return parameters | {name: parameters[name][batch["matrix"]] for name in self.matrix_tables}

    def make_word_inputs(self, x: Tensor) -> Tensors:
        """Return words x (T, B) as their numbers among the distinct ones, the rows of these, and their matrices."""
        if not self.rows:
            return {"x": x}
        words, places = find_distinct(x.cpu().numpy(), self.V)
        inputs = {"words": words, "x": places}
        if self.matrix_tables:
            k = self.choose_matrices(words.clamp(min=0)).numpy()
            inputs |= dict(zip(("matrices", "matrix"), find_distinct(k, self.K), strict=True))
        return inputs


class WindowMember(WindowLoss, Member):
    """The window-based model: B windows of n words. `clip_norm` is that which the member was made with."""

    rows: ClassVar[dict[str, str]] = {"E": "words"}

    def make_word_inputs(self, x: Tensor) -> Tensors:
        """Return words (B, n) as their numbers among the distinct ones, and the rows of these."""
        return dict(zip(("words", "x"), find_distinct(x.numpy(), self.readable.model.vocabulary), strict=True))
