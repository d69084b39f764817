"""Check document 003: what equations 20, 21 and 27 leave open, and the size of a recurrence matrix."""

from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor

from reprise.checks import Finding, compute_relative_error
from reprise.models.bidirectional import DeepBidirectional, initialise

_V, _d, _H, _T = 9, 5, 6, 7


def check_lower_layer_own() -> Iterator[Finding]:
    """Check equations 20 and 21 with h_t^(i-1) of the layer's own direction, against the text and Figure 9."""
    return _check_neighbours("own")


def check_lower_layer_both() -> Iterator[Finding]:
    """Check the same with h_t^(i-1) = [h->_t; h<-_t], as equation 22 reads the highest layer."""
    return _check_neighbours("both")


def _check_neighbours(lower_layer: str) -> Iterator[Finding]:
    """Check that a neuron above the first layer has an input from each direction, so its state depends on every word.

    Some words reach a state through the other direction alone: for "->" those after it, for "<-" those before it. The
    error is the share of these that it does not depend on.
    """
    for layers in (2, 3):
        model = _make_model(layers=layers, lower_layer=lower_layer)
        later, earlier = _compute_dependence(model, slice(None, _H)), _compute_dependence(model, slice(_H, None)).T
        for name, depends in (("->", later), ("<-", earlier)):
            reached = depends[torch.triu(torch.ones(_T, _T, dtype=torch.bool), 1)]
            missing = 1 - reached.double().mean().item()
            yield Finding(f"{name}, layer {layers}: words not reached", missing, len(reached), "share")


def _compute_dependence(model: DeepBidirectional, units: slice) -> Tensor:
    """Return whether these units' state at t (row) depends on word s (column), (T, T) bool."""
    words, present = torch.arange(_T)[:, None], torch.ones(_T, 1, dtype=torch.bool)  # every word once
    rows = []
    for h in model.compute_states(words, present)[:, 0, units]:
        (slope,) = torch.autograd.grad(h.sum(), model.x, retain_graph=True)
        rows.append(slope[:_T].abs().sum(1) > 0)
    return torch.stack(rows)


def check_matrix_by_layers() -> Iterator[Finding]:
    """Check section 2.2 as printed: "for a RNN with 1000 recurrent layers the matrix would be 1000 x 1000"."""
    for L in (1, 2, 3):
        yield _compare_rows(f"L = {L}, H = {_H}", L, _make_model(layers=L, lower_layer="both"))


def check_matrix_by_units() -> Iterator[Finding]:
    """Check the same with units in the place of layers, whatever the size of the vocabulary that the corpus has."""
    for H, V in product((1, 10, 1000), (9, 90)):
        yield _compare_rows(f"H = {H}, {V} words", H, _make_model(hidden_size=H, vocabulary=V))


def _compare_rows(name: str, expected: int, model: DeepBidirectional) -> Finding:
    sizes = [size for reading in (*model.right, *model.left) for size in reading.V.shape]
    return Finding.from_errors(name, (abs(size - expected) for size in sizes), "rows")


def check_decoder_inputs() -> Iterator[Finding]:
    """Check that two readings of equation 27, phi(h_{t-1}, c, y_{t-1}), are the same.

    Either each input has a matrix and the products are added, or one matrix takes the three inputs concatenated.
    """
    added, joined = (torch.cat(list(column)) for column in zip(*_draw_readings(), strict=True))
    yield Finding("three matrices against one", compute_relative_error(added, joined), added.numel())


def _draw_readings() -> Iterator[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(13)
    for c, y in ((_H, 4), (2 * _H, 11)):
        h = [torch.randn(size, generator=generator, dtype=torch.float64) for size in (_H, c, y)]
        W = [torch.randn(_H, len(part), generator=generator, dtype=torch.float64) for part in h]
        yield sum(W_part @ part for W_part, part in zip(W, h, strict=True)), torch.cat(W, 1) @ torch.cat(h)


def _make_model(**options: int | str) -> DeepBidirectional:
    defaults = {"vocabulary": _V, "embedding_size": _d, "hidden_size": _H, "layers": 1}
    model = DeepBidirectional(
        **(defaults | {"directions": "both", "lower_layer": "both", "activation": "tanh"} | options)
    )
    initialise(model, torch.Generator().manual_seed(12))
    return model.double()
