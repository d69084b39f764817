"""The layers before and after the recurrence of the gated networks, whose inputs dropout has made sparse."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import torch
from torch import Tensor

from reprise.engines import build

Lists = build.make_structure("i rows columns blocks", "p entries starts")
Softmax = build.make_structure("i n H strips", "p W b targets ds dW db")
FUNCTIONS = {
    "list_entries": "-pppp",
    "multiply_inputs": "-ppip",
    "differentiate_inputs": "-ppppipp",
    "differentiate_softmax": "dpppf",
    "count_blocks": "ii",
    "get_strip": "i",
    "get_lanes": "i",
}
"""What the layers call of `gated.cpp`: signatures, as `load_functions` takes them."""


class SparseMatrix:
    """A matrix (n, k) of which dropout zeroed entries: the others, listed by rows and by columns."""

    def __init__(self, library: SimpleNamespace, values: Tensor, mask: Tensor | None, by_columns: bool = True) -> None:
        """List `values` times `mask`, both (n, k), where the mask is not 0; all values if it is None.

        ValueError unless both are float32 and of one size.
        """
        if any(
            some.dtype != torch.float32 or some.numel() != values.numel() for some in (values, mask) if some is not None
        ):
            raise ValueError(f"inputs and dropout masks must be float32 and of one size, {values.numel()} numbers")
        self.library, (self.n, self.k) = library, values.shape
        self.by_rows = self._make_lists(self.n, self.k)
        self.by_columns = self._make_lists(self.k, self.n) if by_columns else None
        library.list_entries(self.by_rows, self.by_columns, values, mask)

    def _make_lists(self, rows: int, columns: int) -> ctypes.Structure:
        blocks = self.library.count_blocks(columns)
        entries = torch.empty(rows * columns + self.library.get_lanes(), dtype=torch.int64)  # 8 bytes each
        starts = torch.empty(rows * blocks + 1, dtype=torch.int32)
        return Lists(rows=rows, columns=columns, blocks=blocks, entries=entries, starts=starts)


class Strips:
    """A weight matrix (m, k), as the readable model has it, in strips of rows: (strips, k, rows of a strip).

    What fills up the last strip counts for nothing.
    """

    def __init__(self, library: SimpleNamespace, m: int, k: int) -> None:
        self.m, self.width = m, library.get_strip()
        (self.values,) = build.allocate_in_huge_pages([(-(-m // self.width), k, self.width)])

    def load(self, weights: Tensor) -> None:
        """Take the weights (m, k)."""
        rows = weights.new_zeros(len(self.values) * self.width, weights.shape[1])
        rows[: self.m] = weights
        self.values.copy_(rows.view(-1, self.width, rows.shape[1]).mT)

    def export(self) -> Tensor:
        """Return the weights (m, k)."""
        return self.values.mT.flatten(0, 1)[: self.m]


class InputLayer:
    """Weights of the products with the inputs: those of all gates and of the candidate, one above the other, (m, E)."""

    def __init__(self, library: SimpleNamespace, m: int, embedding: int) -> None:
        self.library, self.W = library, Strips(library, m, embedding)

    def multiply(self, x: SparseMatrix) -> Tensor:
        """Multiply inputs x (n, E) with all weights: (n, m), and zeros up to whole strips."""
        out = torch.empty(x.n, len(self.W.values) * self.W.width)
        self.library.multiply_inputs(x.by_rows, self.W.values, len(self.W.values), out)
        return out

    def differentiate(self, x: SparseMatrix, d: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the derivatives by x (n, E), 0 where dropout zeroed it, and by the strips of W.

        Those by the products are d, (n, whole strips).
        """
        dx, dW = torch.empty(x.n, x.k), torch.empty_like(self.W.values)
        lists, strips = (x.by_rows, x.by_columns), len(self.W.values)
        self.library.differentiate_inputs(*lists, d, self.W.values, strips, dx, dW)
        return dx, dW


class OutputLayer:
    """The softmax layer: weights W_o (V, H) and biases b_o (V,), in strips of words."""

    def __init__(self, library: SimpleNamespace, vocabulary: int, hidden: int) -> None:
        self.library, self.vocabulary, self.hidden = library, vocabulary, hidden
        self.W = Strips(library, vocabulary, hidden)
        self.biases = torch.full((len(self.W.values), self.W.width), -torch.inf)
        self.b_o = self.biases.flatten()[:vocabulary]

    def load(self, W_o: Tensor, b_o: Tensor) -> None:
        """Take the weights (V, H) and biases (V,)."""
        self.W.load(W_o)
        self.biases.fill_(-torch.inf)
        self.b_o.copy_(b_o)

    def evaluate(self, h: Tensor, y: Tensor) -> float:
        """Return the summed loss of the targets y (n,), nats, with inputs h (n, H)."""
        return self._run(SparseMatrix(self.library, h, None, by_columns=False), y, 0.0)

    def differentiate(self, s: SparseMatrix, y: Tensor, share: float) -> tuple[float, Tensor, Tensor, Tensor]:
        """Return the summed loss of the targets y (n,), nats, and the derivatives of `share` times it.

        These are by s (n, H), 0 where dropout zeroed it, and by the strips of W_o and b_o.
        """
        ds, dW, db = torch.empty(s.n, s.k), torch.empty_like(self.W.values), torch.empty_like(self.biases)
        return self._run(s, y, share, ds=ds, dW=dW, db=db), ds, dW, db

    def _run(self, s: SparseMatrix, y: Tensor, share: float, **derivatives: Tensor) -> float:
        build.require_symbols(y, self.vocabulary, "words")
        if len(y) != s.n:
            raise ValueError(f"{s.n} words were read, and {len(y)} are to be predicted")
        sizes = {"n": s.n, "H": self.hidden, "strips": len(self.W.values)}
        softmax = Softmax(**sizes, W=self.W.values, b=self.biases, targets=y.contiguous(), **derivatives)
        return self.library.differentiate_softmax(softmax, s.by_rows, s.by_columns, share)
