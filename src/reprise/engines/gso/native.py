"""The C++ engine of document 000's networks: `gso.cpp` does the work.

It computes one recurrence that every model of models/gso.py is a case of:

    h_t = phi(A(B x_t * C h_{t-1}) + S x_t * W h_{t-1} + D x_t),  logits V h_t + c
"""

import weakref

import numpy as np
import torch
from torch import Tensor

from reprise.engines import build
from reprise.engines.gso.packing import PackedBatch
from reprise.models.gso import GSO, FirstOrder, SymbolModel

Sizes = build.make_structure("i V H M linear scaled shared tanh")
Parameters = build.make_structure("p A B C W S D V c")
Batch = build.make_structure("l steps", "p starts inputs targets share")
FUNCTIONS = {"packed": "pp", "packed_free": "-p", "packed_train": "dpppp", "packed_evaluate": "-ppppp"}


def get_terms(m: SymbolModel) -> dict[str, Tensor]:
    """Return the terms that a model has, by name; without S it is 1.

    These are A (H, M), C (M, H), W (H, H), V and c. B (n, M), S (n, H) and D (n, H) have a row a symbol. If all symbols
    have the same S or D, it is (1, H).
    """
    if isinstance(m, GSO):  # (9)
        D = m.f[None] if m.D is None else m.D.T + m.f
        inner = {"A": m.A, "B": m.B.T, "C": m.C, "D": D} | ({} if m.E is None else {"W": m.E})
    elif isinstance(m, FirstOrder):  # (3)
        inner = {"W": m.W, "D": m.U.T + m.b}
    elif m.form == "simple":  # (7)
        inner = {"W": m.W, "S": m.U.T, "D": m.b[None]}
    else:  # (8)
        inner = {"W": m.W, "S": m.alpha * m.U.T + m.beta_2, "D": m.beta_1 * m.U.T + m.b}
    return inner | {"V": m.V, "c": m.c}


class FusedEngine:
    """For float32 on the CPU.

    Raises:
        NoCompiler: The C++ source cannot be compiled.
    """

    name = "fused"

    def __init__(self, model: SymbolModel) -> None:
        self.model, self.library = model, build.load_functions("gso", **FUNCTIONS)
        t = get_terms(model)
        sizes = Sizes(
            V=model.vocabulary,
            H=model.hidden,
            M=t["A"].shape[1] if "A" in t else 0,
            linear="W" in t,
            scaled="S" in t,
            shared=len(t["D"]) == 1,
            tanh=model.activation == "tanh",
        )
        self.packed = self.library.packed(sizes)
        weakref.finalize(self, self.library.packed_free, self.packed)

    @torch.enable_grad()
    def train(self, batch: PackedBatch, reduction: str) -> float:
        """See `ReferenceEngine`; autograd goes from the terms to the parameters."""
        term_values, parameters = get_terms(self.model), list(self.model.parameters())
        values = Parameters(**{name: term.detach().contiguous() for name, term in term_values.items()})
        gradients_by_term = Parameters(**{name: torch.empty_like(term) for name, term in values.values.items()})
        loss = self.library.packed_train(
            self.packed, values, gradients_by_term, self._make_batch(batch, batch.compute_shares(reduction))
        )
        gradients = torch.autograd.grad(list(term_values.values()), parameters, list(gradients_by_term.values.values()))
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.contiguous()
        return loss

    @torch.no_grad()
    def evaluate(self, batch: PackedBatch) -> tuple[np.ndarray, np.ndarray]:
        """See `ReferenceEngine`."""
        nats, best = np.empty(len(batch), np.float32), np.empty(len(batch), np.int32)
        values = Parameters(**{name: term.contiguous() for name, term in get_terms(self.model).items()})
        self.library.packed_evaluate(self.packed, values, self._make_batch(batch, None), nats, best)
        return nats, best

    def _make_batch(self, batch: PackedBatch, shares: np.ndarray | None) -> Batch:
        """Make the batch for C++; ValueError for symbols that do not exist."""
        for tokens in (batch.inputs, batch.targets):
            if not 0 <= tokens.min() <= tokens.max() < self.model.vocabulary:
                raise ValueError(f"tokens must be in 0 .. {self.model.vocabulary - 1}")
        return Batch(
            steps=len(batch.active),
            starts=np.ascontiguousarray(batch.starts, np.int64),
            inputs=np.ascontiguousarray(batch.inputs, np.int32),
            targets=np.ascontiguousarray(batch.targets, np.int32),
            share=None if shares is None else np.ascontiguousarray(shares, np.float32),
        )
