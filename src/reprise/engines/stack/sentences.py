"""Stacks of the models that read whole lines or sentences, in batches of which each member has its own sizes.

Members' batches are filled up to the largest; what is filled up counts nothing in the loss. First axes grow to a
multiple of eight, so that a captured step meets its shape again.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.engines.gso.packing import PackedBatch
from reprise.engines.stack.member import Member, Request, find_distinct
from reprise.engines.stack.programs import Tensors


class RaggedMember(Member):
    """Batches of any sizes go together."""

    fill_values: ClassVar[dict[str, int]] = {"lengths": 1, "rows": -1, "rows_before": -1}
    size_multiple = 8

    def make_signature(self, batch: Mapping[str, Any]) -> Hashable:
        """See `Member`."""
        return tuple(sorted(name for name, value in batch.items() if isinstance(value, Tensor)))

    def compute_nats(self, logits: Tensor, y: Tensor, filled: Tensor) -> Tensor:
        """Compute -log p of each target y (...), by logits (..., V), in nats; 0 where it is not `filled`."""
        nats = functional.cross_entropy(logits.flatten(0, -2), y.flatten(), reduction="none").view(y.shape)
        return torch.where(filled, nats, torch.zeros_like(nats))

    def list_rows(self, words: Tensor, table: str) -> tuple[Tensor, Tensor]:
        """List the rows of a table that words (T, B) read, as many as a stack can bring together, and their places."""
        T, B = words.shape
        limit = self.readable.model.get_parameter(table).shape[0]
        return find_distinct(words.numpy(), limit, -(-T // self.size_multiple) * self.size_multiple * B)


class LineMember(RaggedMember):
    """GSO, first-order and multiplicative-integration networks of document 000 on lines."""

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Member`: nats of each symbol (T, lines), the most probable symbols, and nats of all."""
        logits = model(batch["x"])  # (T, lines, V)
        each = self.compute_nats(logits, batch["y"], batch["filled"])
        outputs = {"nats": each.sum(dtype=torch.float64), "each": each, "best": logits.argmax(2)}
        return (each * batch["share"]).sum(), outputs

    def evaluate(self, batch: PackedBatch) -> Request:
        """Request what the reference engine computes."""
        inputs = self.make_inputs(batch, "mean-tokens")
        filled = inputs["filled"]

        def finish(outputs: Tensors) -> tuple[np.ndarray, np.ndarray]:
            each, best = (outputs[name][: filled.shape[0], : filled.shape[1]][filled] for name in ("each", "best"))
            return each.numpy(), best.numpy().astype(np.int32)

        return self.process_batch("read", finish, **inputs)

    def make_inputs(self, batch: PackedBatch, reduction: str) -> Tensors:
        """Return symbols, targets, what each counts and whether it is filled, (T, lines) each."""
        x, y, filled = map(
            torch.from_numpy, (batch.pad_rows(batch.inputs), batch.pad_rows(batch.targets), batch.filled)
        )
        shares = torch.from_numpy(batch.compute_shares(reduction)).to(self.readable.model.c.dtype)
        return {"filled": filled, "share": shares * filled, "x": x, "y": y}


class SentenceMember(RaggedMember):
    """Taggers of words and classifiers of sentences: document 003, sections 2.5 and 2.2.

    `classifies_words`: each word is classified, else each sentence.
    """

    rows: ClassVar[dict[str, str]] = {"network.x": "rows"}

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Member`: nats of all items, and the likeliest class of each."""
        logits = model(batch["words"], batch["present"])
        nats = self.compute_nats(logits, batch["y"], batch["item"]).sum()
        return nats / batch["count"], {"nats": nats, "best": logits.argmax(-1)}

    def collate(self, batches: Sequence[Tensors]) -> Tensors:
        """See `Member`. A sentence that is filled up has a word: the mean over none would be no number."""
        inputs = super().collate(batches)
        inputs["present"][:, 0] = True
        return inputs

    def make_inputs(self, words: Tensor, present: Tensor, y: Tensor) -> Tensors:
        """See `Member`.

        Args:
            words: (T, B), padded where `present` is false.
            present: (T, B) bool.
            y: (n,) classes of the sentences, or of the present words, row by row.
        """
        item = self._find_items(present, y)
        classes = torch.zeros(item.shape, dtype=torch.int64)
        classes[item] = y
        rows, places = self.list_rows(words, "network.x")
        batch = {"words": places, "present": present, "y": classes, "item": item, "count": torch.tensor(len(y))}
        return batch | {"rows": rows}

    def summarize(self, outputs: Tensors, words: Tensor, present: Tensor, y: Tensor) -> tuple[float, Tensor]:
        """See `Member`: the mean loss in nats, and the likeliest classes (n,)."""
        item = self._find_items(present, y)
        return float(outputs["nats"]) / len(y), outputs["best"][tuple(slice(n) for n in item.shape)][item]

    def _find_items(self, present: Tensor, y: Tensor) -> Tensor:
        """Return where there is something to classify."""
        return present if self.options["classifies_words"] else torch.ones_like(y, dtype=torch.bool)


class TranslationMember(RaggedMember):
    """The translation model of document 003, section 2.6, on batches of pairs."""

    rows: ClassVar[dict[str, str]] = {"E_x": "rows", "E_y": "rows_before"}

    def compute(self, model: nn.Module, batch: Tensors) -> tuple[Tensor, Tensors]:
        """See `Member`: a pair counts as one (26)."""
        logits = model(batch["source"], batch["lengths"], batch["before"])
        nats = self.compute_nats(logits, batch["y"], batch["filled"]).sum()
        return nats / batch["pairs"], {"nats": nats}

    def make_inputs(self, batch: Any) -> Tensors:
        """Turn a `PairBatch` into tensors, its targets where they stand among the words, (U, B)."""
        y, filled = torch.zeros_like(batch.before), torch.zeros_like(batch.before, dtype=torch.bool)
        y.view(-1)[batch.places], filled.view(-1)[batch.places] = batch.targets, True
        pairs = torch.tensor(len(batch.lengths))
        inputs = {"lengths": batch.lengths, "before": batch.before, "y": y, "filled": filled, "pairs": pairs}
        inputs["rows"], inputs["source"] = self.list_rows(batch.source, "E_x")
        if self.readable.model.context:  # else the words before are not read
            inputs["rows_before"], inputs["before"] = self.list_rows(batch.before, "E_y")
        return inputs
