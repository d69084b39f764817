"""The C++ engine of log-linear RNNs: classes instead of types, and one product for all that can be.

It differs from autograd on the readable model in these points:

* The normaliser and the expected features are sums over classes (`classes.py`).
* The first layer's product with the input is made once for every class in a batch, not for every token.
* A weight's gradient is one product over all steps.
* A window's first step, which has no state before it, needs no product with U.
* All between the products is one pass (`loglinear.cpp`).
* Embeddings that a batch does not hold are left alone.

Symbols as in `models/loglinear.py`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from reprise.engines import build
from reprise.engines.loglinear.classes import Classes, compute_class_scores
from reprise.engines.loglinear.reference import RMSPropSettings
from reprise.engines.readable import copy_state
from reprise.models.loglinear import LogLinearRNN, State

_MAX_SHAPES = 8
"""Shapes of windows that are kept ready: training's, its last batch's, and those of each text's evaluation."""

Rates = build.make_structure("f rate rho epsilon epsilon_inside")
CClasses = build.make_structure("i C M identities features", "p indptr indices log_mass")
Window = build.make_structure("i T B", "p x number h_0 c_0 gates c tanh_c h")


def load_cpp() -> SimpleNamespace:
    """Load the functions of `loglinear.cpp`, which says what each does. Raises NoCompiler."""
    return build.load_functions(
        "loglinear",
        "reprise_ll_",
        layer="pi",
        layer_free="-p",
        forward="-ppp",
        backward="-ppppip",
        product="-iiiipppp",
        sum_rows="-iiippppp",
        softmax="-iippfp",
        class_softmax="-pippfpp",
        rmsprop="-lpppp",
        rmsprop_rows="-iippppplp",
        rmsprop_product="-iiipppppp",
    )


def linear(x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute x @ w.T + bias (n, m) of x (n, k) and w (m, k); one of w and its transpose is contiguous."""
    (rows, depth), columns, transposed = x.shape, w.shape[0], w.is_contiguous()
    out = x.new_empty(rows, columns)
    load_cpp().product(rows, depth, columns, transposed, x.contiguous(), w if transposed else w.T, bias, out)
    return out


def copy_to_huge_pages(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors that stay in use, side by side."""
    places = build.allocate_in_huge_pages([value.shape for value in values.values()])
    return {name: place.copy_(value) for (name, value), place in zip(values.items(), places, strict=True)}


class FusedEngine:
    """For float32 on a CPU; see `ReferenceEngine`.

    Raises:
        NoCompiler: The C++ source cannot be compiled.
    """

    name = "fused"

    def __init__(self, model: LogLinearRNN) -> None:
        self.state: State | None = None
        self.V = model.V
        self.p = copy_to_huge_pages({name: value.detach() for name, value in model.state_dict().items()})
        classes = Classes.from_features(model.features, model.E) if model.features else None
        one_hot_input, softmax = (rows.columns == model.V for rows in (model.psi_rows, model.phi_rows))
        self.input = OneHotInput(self.p["E"]) if one_hot_input else FeatureInput(self.p["E"], classes)
        output = self.p["W_a"], self.p["b_a"], model.log_b
        self.output = SoftmaxOutput(*output) if softmax else ClassOutput(*output, classes)
        self.layers = [LSTMLayer(self.p[f"U_{n}"]) for n in range(1, model.layers + 1)]
        self.optimiser = LazyRMSProp(self.p, {"E"})

    @torch.no_grad()
    def train(self, x: Tensor, y: Tensor, settings: RMSPropSettings) -> float:
        """Make one step; see `ReferenceEngine.train`."""
        build.require_symbols(y, self.V, "types")
        h = self._run_forward(x)
        losses = self.output.compute_losses(_select_states(h, y), y.reshape(-1).contiguous(), 1 / y.numel())
        if floor := settings.floor:
            self.output.d[(losses > -math.log(floor)) | (losses < -math.log1p(-floor))] = 0.0
        self.optimiser.begin_step(settings.learning_rate, settings.rho, settings.epsilon, settings.epsilon_inside)
        dh = self.output.backward(self.optimiser)
        self._run_backward(dh.view(h.shape) if y.dim() == 2 else dh)
        return losses.sum().item()

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        build.require_symbols(y, self.V, "types")
        return (
            self.output.compute_losses(_select_states(self._run_forward(x), y), y.reshape(-1).contiguous()).sum().item()
        )

    @torch.no_grad()
    def compute_log_probabilities(self, x: Tensor) -> Tensor:
        """Compute log p of the words after x (T, B), (B, V); the carried state stays as it is."""
        carried = self.state
        log_p = self.output.compute_log_p(self._run_forward(x)[-1])
        self.state = carried
        return log_p

    def _run_forward(self, x: Tensor) -> Tensor:
        """Compute the last layer's states (T, B, H) of words x (T, B); replace the carried state, if there is one."""
        build.require_symbols(x, self.V, "types")
        if self.state is not None and len(self.state[0][0]) != x.shape[1]:
            raise ValueError(f"the carried state is of {len(self.state[0][0])} texts, not {x.shape[1]}")
        self.ids, self.number = self.input.row_of_type[x].unique(return_inverse=True)
        self.e = self.input.get_rows(self.ids)
        h, number = self.e, self.number
        for n, layer in enumerate(self.layers, start=1):
            rows = linear(h.view(-1, h.shape[-1]), self.p[f"W_{n}"].T, self.p[f"b_{n}"])
            h = layer.forward(rows, number, tuple(x.shape), self.state[n - 1] if self.state else None)
            number = None
        if self.state is not None:
            self.state = tuple(layer.copy_last_state() for layer in self.layers)
        return h

    def _run_backward(self, dh: Tensor) -> None:
        """Update what lies below the output, by the derivatives by the last layer's states, (T, B, H) or (B, H)."""
        for n in range(len(self.layers), 0, -1):
            layer, W = self.layers[n - 1], self.p[f"W_{n}"]
            d = layer.backward(dh).flatten(0, 1)  # (T B, 4H)
            if n > 1:
                inputs = self.layers[n - 2].h
                dh = linear(d, W).view(inputs.shape)
                inputs = inputs.flatten(0, 1)
            else:  # what the tokens of a class have in common is summed before the products
                inputs = self.e
                d = d.new_zeros(len(inputs), d.shape[1]).index_add_(0, self.number.flatten(), d)
                self.input.update_embeddings(self.optimiser, self.ids, linear(d, W))
            self.optimiser.update_by_product(f"W_{n}", inputs, d)
            self.optimiser.update_by_product(f"U_{n}", *layer.get_factors())
            self.optimiser.update_dense(f"b_{n}", d.sum(0))

    def reset(self, batch: int) -> None:
        self.state = tuple((torch.zeros(batch, len(la.U), dtype=la.U.dtype),) * 2 for la in self.layers)

    def export(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self.p.items()}

    def load(self, state: dict[str, Tensor]) -> None:
        copy_state(self.p, state)

    def state_dict(self) -> dict[str, Any]:
        return self.optimiser.get_state()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimiser.restore(state)


def _select_states(h: Tensor, y: Tensor) -> Tensor:
    """Select the states that targets follow: all (T B, H) for targets (T, B), the last (B, H) for targets (B,)."""
    return h.flatten(0, 1) if y.dim() == 2 else h[-1]


class OneHotInput:
    """psi(x) E is the row of x."""

    def __init__(self, E: Tensor) -> None:
        self.E, self.row_of_type = E, torch.arange(len(E))

    def get_rows(self, ids: Tensor) -> Tensor:
        """Return the embeddings (n, D) of distinct, increasing ids (n,)."""
        return self.E[ids]

    def update_embeddings(self, optimiser: LazyRMSProp, ids: Tensor, d: Tensor) -> None:
        optimiser.update_rows("E", ids, d)


class FeatureInput:
    """psi(x) E by classes: the row of the identity plus those of the tags; ids are classes."""

    def __init__(self, E: Tensor, classes: Classes) -> None:
        self.E, self.classes, self.row_of_type = E, classes, classes.class_of_type
        self.tag_rows = torch.arange(classes.identities, len(E))

    def get_rows(self, ids: Tensor) -> Tensor:
        k = self.classes
        out = self.E.new_empty(len(ids), self.E.shape[1])
        load_cpp().sum_rows(*out.shape, k.M if k.identities else -1, self.E, k.indptr, k.indices, ids, out)
        return out

    def update_embeddings(self, optimiser: LazyRMSProp, ids: Tensor, d: Tensor) -> None:
        classes = self.classes
        rows, parts = [self.tag_rows], [linear(classes.tags[ids].T.contiguous(), d.T)]
        if classes.identities:
            own = int(torch.searchsorted(ids, classes.M))
            rows = [ids[:own], ids.new_tensor([classes.M]), *rows]
            parts = [d[:own], d[own:].sum(0, keepdim=True), *parts]
        optimiser.update_rows("E", torch.cat(rows), torch.cat(parts))


class SoftmaxOutput:
    """(13) with one-hot phi: a softmax over the types, of a + log b."""

    def __init__(self, W: Tensor, b: Tensor, log_b: Tensor) -> None:
        self.W, self.b, self.log_b = W, b, log_b.to(W.dtype)

    def compute_losses(self, h: Tensor, y: Tensor, weight: float = 0.0) -> Tensor:
        """Compute -log p (n,) float64 of types y (n,) after states h (n, H).

        Keep weight * (p - 1 at y) for `backward`.
        """
        self.h, self.d = h, linear(h, self.W, self.b + self.log_b)  # (n, V)
        losses = torch.empty(len(y), dtype=torch.float64)
        load_cpp().softmax(*self.d.shape, self.d, y, weight, losses)
        return losses

    def backward(self, optimiser: LazyRMSProp) -> Tensor:
        """Update the layer's weights; return the derivatives by h (n, H)."""
        dh = torch.empty_like(self.h)
        optimiser.update_by_product("W_a", self.d, self.h, dh)
        optimiser.update_dense("b_a", self.d.sum(0))
        return dh

    def compute_log_p(self, h: Tensor) -> Tensor:
        """Compute all of log p, (n, V)."""
        return torch.log_softmax(linear(h, self.W, self.b + self.log_b), 1)


class ClassOutput(SoftmaxOutput):
    """(13) by classes; `Classes` says why this is exact."""

    def __init__(self, W: Tensor, b: Tensor, log_b: Tensor, classes: Classes) -> None:
        super().__init__(W, b, log_b)
        self.classes, log_mass = classes, classes.compute_log_mass(log_b)
        self.log_share = log_b.double() - log_mass[classes.class_of_type]  # (V,): log b(x) / B_c
        self.log_mass = log_mass.to(W.dtype)

    def compute_losses(self, h: Tensor, y: Tensor, weight: float = 0.0) -> Tensor:
        """Compute the same by classes; `backward` takes weight * (expected - observed features) (n, F), equation 16."""
        k, a = self.classes, linear(h, self.W, self.b)  # (n, F)   (12)
        self.h, self.d = h, torch.empty_like(a) if weight else None
        losses = torch.empty(len(y), dtype=torch.float64)
        sizes = {"C": len(k.tags), "M": k.M, "identities": k.identities, "features": a.shape[1]}
        class_table = CClasses(**sizes, indptr=k.indptr, indices=k.indices, log_mass=self.log_mass)
        load_cpp().class_softmax(class_table, len(a), a, k.class_of_type[y], weight, self.d, losses)
        return losses.sub_(self.log_share[y])

    def compute_log_p(self, h: Tensor) -> Tensor:
        k, a = self.classes, linear(h, self.W, self.b)
        by_class = torch.log_softmax(compute_class_scores(a, k.tags, k.identities, self.log_mass, linear), 1)
        return by_class[:, k.class_of_type] + self.log_share.to(by_class.dtype)


class LazyRMSProp:
    """RMSProp as in Keras 1, with gradients that exist for some rows of a table alone.

        a = rho a + (1 - rho) g^2        p = p - rate * g / (sqrt(a + epsilon_inside) + epsilon)

    Up to Keras 1.0.2 the epsilon stood inside the root (epsilon_inside = 1e-6, epsilon = 0), from 1.0.3 on (May 2016)
    beside it (1e-8).

    Keras moves every row in every step: where g is 0 the parameter stays and a falls by the factor rho. Here such a row
    is left alone. When it next has a gradient, its a is first multiplied by rho to the power of the steps it missed.
    That is the same number but for rounding. It saves the passes over the rows that a batch misses, which are tens of
    thousands. Updates `parameters` in place; those in `tables` by rows. `begin_step` sets the rates.
    """

    def __init__(self, parameters: Mapping[str, Tensor], tables: set[str]) -> None:
        self.parameters = parameters
        self.a = copy_to_huge_pages({name: torch.zeros_like(value) for name, value in parameters.items()})
        self.seen = {name: torch.zeros(len(parameters[name]), dtype=torch.int64) for name in sorted(tables)}
        self.step = 0

    def begin_step(self, rate: float, rho: float, epsilon: float, epsilon_inside: float = 0.0) -> None:
        """Begin the next step, at these rates."""
        self.step += 1
        self.rates = Rates(rate=rate, rho=rho, epsilon=epsilon, epsilon_inside=epsilon_inside)

    def update_dense(self, name: str, gradient: Tensor) -> None:
        """Update a parameter by its gradient."""
        p = self.parameters[name]
        load_cpp().rmsprop(p.numel(), p, self.a[name], gradient, self.rates)

    def update_by_product(self, name: str, d: Tensor, h: Tensor, dh: Tensor | None = None) -> None:
        """Update a parameter p (m, H) whose gradient is d' h, with d (n, m) and h (n, H).

        Fill `dh`, if given, with d p (n, H) of the parameter before: so p comes from memory once for both.
        """
        p = self.parameters[name]
        load_cpp().rmsprop_product(*p.shape, len(h), d, h, p, self.a[name], self.rates, dh)

    def update_rows(self, name: str, rows: Tensor, gradient: Tensor) -> None:
        """Update these distinct rows (n,) of a table, of which gradient (n, D) has one each."""
        table = self.parameters[name], self.a[name], self.seen[name]
        load_cpp().rmsprop_rows(*gradient.shape, rows, *table, gradient, self.step, self.rates)

    def get_state(self) -> dict[str, Any]:
        """Return copies of what decides the next steps, without the parameters."""
        copies = {key: {n: v.clone() for n, v in getattr(self, key).items()} for key in ("a", "seen")}
        return copies | {"step": self.step}

    def restore(self, state: Mapping[str, Any]) -> None:
        for key in ("a", "seen"):
            for name, value in getattr(self, key).items():
                value.copy_(state[key][name])
        self.step = state["step"]


class LSTMLayer:
    """Holds U (H, 4H), and from `forward` to `backward` the window's gates and states."""

    def __init__(self, U: Tensor) -> None:
        self.U, self.layer = U, load_cpp().layer(len(U))
        weakref.finalize(self, load_cpp().layer_free, self.layer)
        self.buffers: dict[tuple[int, int], tuple[Tensor, ...]] = {}

    def forward(
        self, x: Tensor, number: Tensor | None, shape: tuple[int, int], state: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        """Compute the states of rows x (R, 4H): step t of stream b takes row number[t, b], without numbers row t B + b.

        Start from h, c (B, H), or without a state from zeros; the first step then has no product. Return the states
        h_1 .. h_T (T, B, H), which stay until the next call.
        """
        T, B = shape
        h_0, c_0 = state or (None, None)
        self.state = state
        self.gates, self.d_gates, self.c, self.tanh_c, self.h = self._get_buffers(T, B)
        results = {"gates": self.gates, "c": self.c, "tanh_c": self.tanh_c, "h": self.h}
        self.window = Window(T=T, B=B, x=x, number=number, h_0=h_0, c_0=c_0, **results)
        load_cpp().forward(self.layer, self.window, self.U)
        return self.h

    def _get_buffers(self, T: int, B: int) -> tuple[Tensor, ...]:
        """Return memory for gates and derivatives (T, B, 4H), c, tanh c and h (T, B, H); new memory is slow."""
        if (T, B) not in self.buffers:
            if len(self.buffers) == _MAX_SHAPES:
                self.buffers.clear()
            self.buffers[T, B] = tuple(self.U.new_empty(T, B, n * len(self.U)) for n in (4, 4, 1, 1, 1))
        return self.buffers[T, B]

    def copy_last_state(self) -> tuple[Tensor, Tensor]:
        """Copy h_T and c_T."""
        return self.h[-1].clone(), self.c[-1].clone()

    def backward(self, dh: Tensor) -> Tensor:
        """Compute derivatives by those of the states, dh (T, B, H), or (B, H) if the last state alone has one.

        Return the derivatives by the gates' sums, (T, B, 4H), which stay until the next call. Those by the state before
        the window are not computed.
        """
        load_cpp().backward(self.layer, self.window, self.U, dh.contiguous(), dh.dim() == 3, self.d_gates)
        return self.d_gates

    def get_factors(self) -> tuple[Tensor, Tensor]:
        """Return h (n, H) and d (n, 4H), whose product h' d is the gradient of U, of all steps not from zeros."""
        before, d = self.h[:-1].flatten(0, 1), self.d_gates[1:].flatten(0, 1)
        if self.state is not None:
            before, d = torch.cat([self.state[0], before]), self.d_gates.flatten(0, 1)
        return before, d
