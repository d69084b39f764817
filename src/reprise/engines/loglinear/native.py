"""The C++ engine of log-linear RNNs: classes instead of types, and one product for all that can be.

Against autograd on the readable model: the normaliser and the expected features are sums over classes (`classes.py`);
the first layer's product with the input is made once for every class that a batch holds, not for every token; a
weight's gradient is one product over all steps; a window's first step, which has no state before it, needs no product
with U; what stands between the products is one pass (`loglinear.cpp`), and embeddings that a batch does not hold are
left alone. Symbols as in `models/loglinear.py`.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Mapping
from ctypes import POINTER, c_float, c_int, c_int64, c_long, c_void_p
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reprise.engines import build
from reprise.engines.choice import check_fit
from reprise.engines.loglinear.classes import Classes
from reprise.engines.readable import take_state
from reprise.models.loglinear import LogLinearRNN, State

HUGE, ALIGNED = (1 << 21) // 4, 1 << 10
"""Floats of a huge page, and of an ordinary one, where tensors in such pages begin."""

SHAPES = 8
"""So many shapes of windows are kept ready: training's, its last batch's, and those of each text's evaluation."""


class FusedEngine:
    """A `WindowEngine` in float32 on a CPU. Raises NoCompiler where it cannot be compiled."""

    name = "fused"

    def __init__(self, model: LogLinearRNN) -> None:
        check_fit(model, (LogLinearRNN,))
        self.state: State | None = None
        passes = Passes()
        self.p = passes.kept({name: value.detach() for name, value in model.state_dict().items()})
        classes = Classes.of(model.features, model.E) if model.features else None
        one_hot_input, softmax = (rows.columns == model.V for rows in (model.psi_rows, model.phi_rows))
        E, W_a, b_a, log_b = self.p["E"], self.p["W_a"], self.p["b_a"], model.log_b
        self.input = OneHotInput(E) if one_hot_input else FeatureInput(E, classes, passes)
        if softmax:
            self.output = SoftmaxOutput(W_a, b_a, log_b, passes)
        else:
            self.output = ClassOutput(W_a, b_a, log_b, classes, passes)
        self.layers = [LSTMLayer(self.p[f"U_{n}"]) for n in range(1, model.layers + 1)]
        self.optimiser = RMSprop(self.p, {"E"}, passes)
        self.passes = passes

    @torch.no_grad()
    def train(
        self, x: Tensor, y: Tensor, *, learning_rate: float, rho: float, epsilon: float, inside: float = 0.0
    ) -> float:
        h = self._read(x)
        losses = self.output.losses(self._targeted(h, y), y.reshape(-1).contiguous(), 1 / y.numel())
        self.optimiser.begin(learning_rate, rho, epsilon, inside)
        dh = self.output.backward(self.optimiser)
        self._back(dh.view(h.shape) if y.dim() == 2 else dh)
        return losses.sum().item()

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        return self.output.losses(self._targeted(self._read(x), y), y.reshape(-1).contiguous()).sum().item()

    @torch.no_grad()
    def log_probabilities(self, x: Tensor) -> Tensor:
        return self.output.log_p(self._read(x)[-1])

    def _targeted(self, h: Tensor, y: Tensor) -> Tensor:
        """The states that targets follow: all (T B, H) for targets (T, B), the last (B, H) for targets (B,)."""
        return h.flatten(0, 1) if y.dim() == 2 else h[-1]

    def _read(self, x: Tensor) -> Tensor:
        """Words x (T, B) -> the last layer's states (T, B, H); moves the carried state, if there is one."""
        self.ids, self.number = self.input.of_type[x].unique(return_inverse=True)
        self.e = self.input.rows(self.ids)
        h, number = self.e, self.number
        for n, layer in enumerate(self.layers, start=1):
            rows = self.passes.linear(h.view(-1, h.shape[-1]), self.p[f"W_{n}"].T, self.p[f"b_{n}"])
            h = layer.forward(rows, number, tuple(x.shape), self.state[n - 1] if self.state else None)
            number = None
        if self.state is not None:
            self.state = tuple(layer.last() for layer in self.layers)
        return h

    def _back(self, dh: Tensor) -> None:
        """From the derivatives by the last layer's states, (T, B, H) or (B, H), to the updates below the output."""
        for n in range(len(self.layers), 0, -1):
            layer, W = self.layers[n - 1], self.p[f"W_{n}"]
            d = layer.backward(dh).flatten(0, 1)  # (T B, 4H)
            if n > 1:
                inputs = self.layers[n - 2].h
                dh = self.passes.linear(d, W, None).view(inputs.shape)
                inputs = inputs.flatten(0, 1)
            else:
                # What the tokens of a class have in common is summed before the products.
                d, inputs = self._by_class(d), self.e
                self.input.update(self.optimiser, self.ids, self.passes.linear(d, W, None))
            self.optimiser.product(f"W_{n}", inputs, d)
            self.optimiser.product(f"U_{n}", *layer.factors())
            self.optimiser.dense(f"b_{n}", d.sum(0))

    def _by_class(self, d: Tensor) -> Tensor:
        """(T B, 4H) by token -> (n, 4H) by the classes of `ids`."""
        out = d.new_zeros(self.e.shape[0], d.shape[1])
        self.passes.add_rows(d, self.number.flatten(), out)
        return out

    def reset(self, batch: int) -> None:
        self.state = tuple((torch.zeros(batch, len(la.U), dtype=la.U.dtype),) * 2 for la in self.layers)

    def export(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.p.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        take_state(self.p, state)

    def optimiser_state(self) -> dict[str, Any]:
        return self.optimiser.state()

    def restore_optimiser(self, state: dict[str, Any]) -> None:
        self.optimiser.restore(state)


class OneHotInput:
    """psi(x) E is the row of x."""

    def __init__(self, E: Tensor) -> None:
        self.E = E
        self.of_type = torch.arange(len(E))

    def rows(self, ids: Tensor) -> Tensor:
        """The embeddings (n, D) of distinct, increasing ids (n,)."""
        return self.E[ids]

    def update(self, optimiser: RMSprop, ids: Tensor, d: Tensor) -> None:
        optimiser.rows("E", ids, d)


class FeatureInput:
    """psi(x) E by classes: the row of the identity plus those of the tags."""

    def __init__(self, E: Tensor, classes: Classes, passes: Passes) -> None:
        self.E, self.classes, self.passes = E, classes, passes
        self.of_type = classes.of_type
        self.tag_rows = torch.arange(classes.identities, len(E))

    def rows(self, ids: Tensor) -> Tensor:
        """The embeddings (n, D) of distinct, increasing classes (n,)."""
        return self.passes.embed(self.E, self.classes, ids)

    def update(self, optimiser: RMSprop, ids: Tensor, d: Tensor) -> None:
        classes = self.classes
        rows, parts = [self.tag_rows], [self.passes.linear(classes.tags[ids].T.contiguous(), d.T, None)]
        if classes.identities:
            own = int(torch.searchsorted(ids, classes.M))
            rows = [ids[:own], ids.new_tensor([classes.M]), *rows]
            parts = [d[:own], d[own:].sum(0, keepdim=True), *parts]
        optimiser.rows("E", torch.cat(rows), torch.cat(parts))


class SoftmaxOutput:
    """(13) with one-hot phi: a softmax over the types, of a + log b."""

    def __init__(self, W: Tensor, b: Tensor, log_b: Tensor, passes: Passes) -> None:
        self.W, self.b, self.log_b, self.passes = W, b, log_b.to(W.dtype), passes

    def losses(self, h: Tensor, y: Tensor, weight: float = 0.0) -> Tensor:
        """-log p (n,) float64 of types y (n,) after states h (n, H); keeps weight * (p - 1 at y) for `backward`."""
        self.h, self.d = h, self.passes.linear(h, self.W, self.b + self.log_b)  # (n, V)
        return self.passes.softmax(self.d, y, weight)

    def backward(self, optimiser: RMSprop) -> Tensor:
        """Derivatives by h (n, H); the layer's weights are updated."""
        dh = self.passes.linear(self.d, self.W.T, None)
        optimiser.product("W_a", self.d, self.h)
        optimiser.dense("b_a", self.d.sum(0))
        return dh

    def log_p(self, h: Tensor) -> Tensor:
        """All of log p, (n, V)."""
        return torch.log_softmax(self.passes.linear(h, self.W, self.b + self.log_b), 1)


class ClassOutput:
    """(13) by classes; `Classes` says why this is exact."""

    def __init__(self, W: Tensor, b: Tensor, log_b: Tensor, classes: Classes, passes: Passes) -> None:
        self.W, self.b, self.classes, self.passes = W, b, classes, passes
        log_mass = classes.log_mass(log_b)
        self.log_share = log_b.double() - log_mass[classes.of_type]  # (V,): log b(x) / B_c
        self.log_mass = log_mass.to(W.dtype)

    def losses(self, h: Tensor, y: Tensor, weight: float = 0.0) -> Tensor:
        a = self.passes.linear(h, self.W, self.b)  # (n, F)   (12)
        of_class = self.classes.of_type[y]
        self.h = h
        self.da, losses = self.passes.class_softmax(a, self.classes, self.log_mass, of_class, weight)
        return losses.sub_(self.log_share[y])

    def backward(self, optimiser: RMSprop) -> Tensor:
        dh = self.passes.linear(self.da, self.W.T, None)
        optimiser.product("W_a", self.da, self.h)
        optimiser.dense("b_a", self.da.sum(0))
        return dh

    def log_p(self, h: Tensor) -> Tensor:
        scores = self.classes.scores(self.passes.linear(h, self.W, self.b), self.log_mass, self.passes.linear)
        by_class = torch.log_softmax(scores, 1)
        return by_class[:, self.classes.of_type] + self.log_share.to(by_class.dtype)


class RMSprop:
    """RMSprop as in Keras 1, with gradients that exist for some rows of a table alone.

        a = rho a + (1 - rho) g^2        p = p - rate * g / (sqrt(a + inside) + epsilon)

    Until Keras 0.3 the epsilon stood inside the root (inside = 1e-6, epsilon = 0), since Keras 1 beside it (1e-8).

    Keras moves every row in every step: where g is 0 the parameter stays and a falls by the factor rho. Here such a row
    is left alone, and when it next has a gradient its a is first multiplied by rho to the power of the steps it missed.
    That is the same number but for rounding, and saves the passes over the rows (of tens of thousands) that a batch
    misses. Updates `parameters` in place; those in `tables` by rows. `begin` sets the rates.
    """

    def __init__(self, parameters: Mapping[str, Tensor], tables: set[str], passes: Passes) -> None:
        self.parameters, self.passes = parameters, passes
        self.a = passes.kept({name: torch.zeros_like(value) for name, value in parameters.items()})
        self.seen = {name: torch.zeros(len(parameters[name]), dtype=torch.int64) for name in sorted(tables)}
        self.step = 0

    def begin(self, rate: float, rho: float, epsilon: float, inside: float = 0.0) -> None:
        """Begins the next step."""
        self.step += 1
        self.rates = Rates(rate, rho, epsilon, inside)

    def dense(self, name: str, gradient: Tensor) -> None:
        """Updates a parameter by its gradient."""
        self.passes.rmsprop(self.parameters[name], self.a[name], gradient, self.rates)

    def product(self, name: str, d: Tensor, h: Tensor) -> None:
        """Updates a parameter (m, H) whose gradient is d' h, with d (n, m) and h (n, H)."""
        self.passes.rmsprop_product(self.parameters[name], self.a[name], d, h, self.rates)

    def rows(self, name: str, rows: Tensor, gradient: Tensor) -> None:
        """Updates these distinct rows (n,) of a table, of which gradient (n, D) has one each."""
        table = self.parameters[name], self.a[name], self.seen[name]
        self.passes.rmsprop_rows(*table, rows, gradient, self.step, self.rates)

    def state(self) -> dict[str, Any]:
        """Copies of what decides the next steps, beside the parameters."""
        return {
            "a": {name: value.clone() for name, value in self.a.items()},
            "seen": {name: value.clone() for name, value in self.seen.items()},
            "step": self.step,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        for mine, theirs in ((self.a, state["a"]), (self.seen, state["seen"])):
            for name, value in mine.items():
                value.copy_(theirs[name])
        self.step = state["step"]


class LSTMLayer:
    """Holds U (H, 4H), and from `forward` to `backward` the window's gates and states."""

    def __init__(self, U: Tensor) -> None:
        self.U = U
        self.library = _library()
        self.layer = self.library.reprise_ll_layer(len(U))
        weakref.finalize(self, self.library.reprise_ll_layer_free, self.layer)
        self.buffers: dict[tuple[int, int], tuple[Tensor, ...]] = {}

    def forward(
        self, x: Tensor, number: Tensor | None, shape: tuple[int, int], state: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        """Rows x (R, 4H), of which step t of stream b takes number[t, b] ((T, B), or row t B + b without numbers).

        Starts from h, c (B, H), or from zeros without a state, where the first step has no product. Returns the states
        h_1 .. h_T (T, B, H), which stand until the next call.
        """
        self.state = state
        self.gates, self.d_gates, self.c, self.tanh_c, self.h = self._make(*shape)
        left = (self.gates, self.c, self.tanh_c, self.h)
        self.given = x, number, *(state or (None, None)), *left  # they have to live until `backward`
        self.window = _Window(*shape, *_pointers(*self.given))
        self.library.reprise_ll_forward(self.layer, self.window, *_pointers(self.U))
        return self.h

    def _make(self, T: int, B: int) -> tuple[Tensor, ...]:
        """Gates and their derivatives (T, B, 4H); c, tanh c and h (T, B, H). Kept: new memory comes page by page."""
        if (T, B) not in self.buffers:
            if len(self.buffers) == SHAPES:
                self.buffers.clear()
            widths = (4, 4, 1, 1, 1)
            self.buffers[T, B] = tuple(self.U.new_empty(T, B, n * len(self.U)) for n in widths)
        return self.buffers[T, B]

    def last(self) -> tuple[Tensor, Tensor]:
        """h_T and c_T, copied."""
        return self.h[-1].clone(), self.c[-1].clone()

    def backward(self, dh: Tensor) -> Tensor:
        """dh, by the states from outside the layer, is (T, B, H), or (B, H) where the last state alone has one.

        Returns the derivatives by the gates' sums, (T, B, 4H), which stand until the next call; those by the state
        before the window are not followed.
        """
        U, given, out = _pointers(self.U, dh.contiguous(), self.d_gates)
        self.library.reprise_ll_backward(self.layer, self.window, U, given, dh.dim() == 3, out)
        return self.d_gates

    def factors(self) -> tuple[Tensor, Tensor]:
        """(n, H) and (n, 4H), whose product h' d is the gradient of U: all steps that had a state before them."""
        before, d = self.h[:-1].flatten(0, 1), self.d_gates[1:].flatten(0, 1)
        if self.state is not None:
            before, d = torch.cat([self.state[0], before]), self.d_gates.flatten(0, 1)
        return before, d


class Rates(NamedTuple):
    """RMSprop's settings; `inside` is an epsilon inside the root, where older versions of Keras have theirs."""

    rate: float
    rho: float
    epsilon: float
    inside: float = 0.0


class Passes:
    """The functions in C++; all tensors are contiguous. Raises NoCompiler where they cannot be compiled."""

    def __init__(self) -> None:
        self.library = _library()

    def linear(self, x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
        """x (n, k), w (m, k) -> x @ w.T + bias (n, m); one of w and its transpose is contiguous."""
        (rows, depth), columns, transposed = x.shape, w.shape[0], w.is_contiguous()
        x, out = x.contiguous(), x.new_empty(rows, columns)
        tensors = _pointers(x, w if transposed else w.T, bias, out)
        self.library.reprise_ll_product(rows, depth, columns, transposed, *tensors)
        return out

    def kept(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Contiguous copies of tensors that stay in use: side by side, in huge pages where the system has them."""
        sizes = [-(-value.numel() // ALIGNED) * ALIGNED for value in values.values()]
        space = torch.empty(sum(sizes) + HUGE, dtype=torch.float32)
        self.library.reprise_ll_huge_pages(*_pointers(space), space.nbytes)
        begin = -(space.data_ptr() // space.itemsize) % HUGE
        places = space[begin : begin + sum(sizes)].split(sizes)
        return {
            name: place[: value.numel()].view(value.shape).copy_(value)
            for (name, value), place in zip(values.items(), places, strict=True)
        }

    def add_rows(self, rows: Tensor, number: Tensor, out: Tensor) -> None:
        """out[number[r]] += rows[r]."""
        self.library.reprise_ll_add_rows(*rows.shape, *_pointers(rows, number, out))

    def embed(self, table: Tensor, classes: Classes, ids: Tensor) -> Tensor:
        """The sums (n, D) of the rows of a table (F, D) that are the features of the classes ids (n,)."""
        out = table.new_empty(ids.shape[0], table.shape[1])
        tensors = _pointers(table, classes.indptr, classes.indices, ids, out)
        self.library.reprise_ll_sum_rows(*out.shape, classes.M if classes.identities else -1, *tensors)
        return out

    def softmax(self, L: Tensor, target: Tensor, weight: float) -> Tensor:
        """Scores L (n, C) become weight * (softmax - 1 at the target (n,)); -log p of the targets, (n,) float64."""
        losses = torch.empty(L.shape[0], dtype=torch.float64)
        scores, target_, losses_ = _pointers(L, target, losses)
        self.library.reprise_ll_softmax(*L.shape, scores, target_, weight, losses_)
        return losses

    def class_softmax(
        self, a: Tensor, classes: Classes, log_mass: Tensor, target: Tensor, weight: float
    ) -> tuple[Tensor, Tensor]:
        """Adaptors a (n, F) and classes (n,): weight * (expected - observed features) (n, F) and -log p (n,), float64.

        Equations (13) and (16) for classes of the masses exp(log_mass) (C,). `weight` 0: derivatives are left out.
        """
        losses = torch.empty(a.shape[0], dtype=torch.float64)
        da = torch.empty_like(a) if weight else None
        arrays = _pointers(classes.indptr, classes.indices, log_mass)
        sizes = classes.tags.shape[0], classes.M, classes.identities, a.shape[1]
        a_, target_, da_, losses_ = _pointers(a, target, da, losses)
        self.library.reprise_ll_class_softmax(_Classes(*sizes, *arrays), a.shape[0], a_, target_, weight, da_, losses_)
        return a if da is None else da, losses

    def rmsprop(self, p: Tensor, a: Tensor, g: Tensor, rates: Rates) -> None:
        """a = rho a + (1 - rho) g^2, p -= rate g / (sqrt(a + inside) + epsilon), in place."""
        self.library.reprise_ll_rmsprop(p.numel(), *_pointers(p, a, g), _Rates(*rates))

    def rmsprop_rows(
        self, p: Tensor, a: Tensor, seen: Tensor, rows: Tensor, g: Tensor, step: int, rates: Rates
    ) -> None:
        """The same for distinct rows (n,) of a table whose gradients are g (n, D), in the step of this number.

        seen (R,) int64 says in which step a row was last updated; first its a falls by rho for each step missed.
        """
        tensors = _pointers(rows, p, a, seen, g)
        self.library.reprise_ll_rmsprop_rows(*g.shape, *tensors, step, _Rates(*rates))

    def rmsprop_product(self, p: Tensor, a: Tensor, d: Tensor, h: Tensor, rates: Rates) -> None:
        """The same for p (m, H) whose gradient is d' h, with d (n, m) and h (n, H)."""
        self.library.reprise_ll_rmsprop_product(*p.shape, h.shape[0], *_pointers(d, h, p, a), _Rates(*rates))


class _Rates(ctypes.Structure):
    _fields_ = [(name, c_float) for name in Rates._fields]


class _Classes(ctypes.Structure):
    _fields_ = [
        *((name, c_int) for name in ("C", "M", "identities", "features")),
        *((name, c_void_p) for name in ("indptr", "indices", "log_mass")),
    ]


class _Window(ctypes.Structure):
    _fields_ = [
        *((name, c_int) for name in ("T", "B")),
        *((name, c_void_p) for name in ("x", "number", "h_0", "c_0", "gates", "c", "tanh_c", "h")),
    ]


def _pointers(*tensors: Tensor | None) -> list[int | None]:
    for tensor in tensors:
        if tensor is not None and not tensor.is_contiguous():
            raise ValueError(f"a tensor of strides {tensor.stride()} cannot be passed to C++")
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]


@functools.cache
def _library() -> ctypes.CDLL:
    library = build.load("loglinear")
    pointer, window = c_void_p, POINTER(_Window)
    signatures = {
        "layer": [c_int],
        "layer_free": [pointer],
        "forward": [pointer, window, pointer],
        "backward": [pointer, window, pointer, pointer, c_int, pointer],
        "product": [c_int] * 4 + [pointer] * 4,
        "huge_pages": [pointer, c_long],
        "add_rows": [c_int] * 2 + [pointer] * 3,
        "sum_rows": [c_int] * 3 + [pointer] * 5,
        "softmax": [c_int] * 2 + [pointer] * 2 + [c_float, pointer],
        "class_softmax": [POINTER(_Classes), c_int, pointer, pointer, c_float, pointer, pointer],
        "rmsprop": [c_long] + [pointer] * 3 + [_Rates],
        "rmsprop_rows": [c_int] * 2 + [pointer] * 5 + [c_int64, _Rates],
        "rmsprop_product": [c_int] * 3 + [pointer] * 4 + [_Rates],
    }
    for name, arguments in signatures.items():
        function = getattr(library, f"reprise_ll_{name}")
        function.argtypes, function.restype = arguments, c_void_p if name == "layer" else None
    return library
