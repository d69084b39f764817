"""The C++ engine of document 002's Elman and LSTM networks with a loss on the last state: `palindromes.cpp`."""

import weakref

import torch
from torch import Tensor, nn

from reprise.engines import build
from reprise.engines.palindromes.reference import backpropagate_softmax
from reprise.models.lstm import LSTM

Parameters = build.make_structure("p W_x W_h b")
FUNCTIONS = {"sequence": "piii", "sequence_free": "-p", "sequence_forward": "-pppiip", "sequence_backward": "-pppiip"}


class FusedEngine:
    """The recurrence in C++, in float32 on the CPU; the output layer stays torch's.

    Raises:
        NoCompiler: The C++ source cannot be compiled.
    """

    name = "fused"

    def __init__(self, model: nn.Module) -> None:
        self.library = build.load_functions("palindromes", **FUNCTIONS)
        if isinstance(model, LSTM):
            gates, self.recurrent = 4, (model.W_x, model.W_h, model.b)
            self.output = model.W_out, model.b_out
        else:
            gates, self.recurrent = 1, (model.W_hx, model.W_hh, model.b_h)
            self.output = model.W_oh, model.b_o
        self.symbols, self.n = self.recurrent[0].shape[1], self.recurrent[1].shape[1]
        self.sequence = self.library.sequence(gates, self.symbols, self.n)
        weakref.finalize(self, self.library.sequence_free, self.sequence)

    @torch.no_grad()
    def compute_gradients(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """See `ReferenceEngine`; ValueError for symbols that the model does not have."""
        build.require_symbols(x, self.symbols, "symbols")
        T, B = x.shape
        x, names = x.contiguous(), ("W_x", "W_h", "b")
        weights = Parameters(**{n: p.detach().contiguous() for n, p in zip(names, self.recurrent, strict=True)})
        gradients = Parameters(**{n: torch.empty_like(w) for n, w in weights.values.items()})
        h = torch.empty(B, self.n)
        self.library.sequence_forward(self.sequence, weights, x, T, B, h)
        W, b = self.output
        W.grad = b.grad = None
        with torch.enable_grad():
            h.requires_grad_()
            result = backpropagate_softmax(h @ W.t() + b, y)
        self.library.sequence_backward(self.sequence, gradients, x, T, B, h.grad.contiguous())
        for parameter, gradient in zip(self.recurrent, gradients.values.values(), strict=True):
            parameter.grad = gradient
        return result
