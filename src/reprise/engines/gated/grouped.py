"""GRU, LSTM and their restricted tensor networks without autograd: a window of words is a few calls of C++.

Against autograd on the readable model: products skip what dropout zeroed (`layers.py`). A strip of probabilities stays
in the cache. The recurrence is one call a direction. No matrix is copied for a word. Gradients of matrices and
embeddings exist for the words of the window alone. Symbols as in `models/gated.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reprise.engines import build
from reprise.engines.clipping import compute_clipping_factor
from reprise.engines.gated import layers, recurrence
from reprise.engines.gated.layers import InputLayer, OutputLayer, SparseMatrix
from reprise.engines.gated.recurrence import RecurrentLayer
from reprise.engines.gated.reference import compute_word_share
from reprise.engines.readable import copy_state
from reprise.models.gated import GatedLanguageModel, Masks, State


class GroupedEngine:
    """For GRU and LSTM in float32 on a CPU; see `ReferenceEngine`. NoCompiler if it cannot be compiled."""

    name = "grouped"

    def __init__(self, model: GatedLanguageModel) -> None:
        self.model, self.device = model, model.E.device
        self.state: State = ()
        self.library = build.load_functions("gated", **layers.FUNCTIONS, **recurrence.FUNCTIONS)
        (self.E,) = build.allocate_in_huge_pages([model.E.shape])
        self.input_names = [f"W_h{gate}" for gate in (*model.gates, model.candidate)]
        self.input = InputLayer(self.library, len(self.input_names) * model.hidden, model.embedding)
        self.recurrent = RecurrentLayer(self.library, model)
        self.output = OutputLayer(self.library, model.vocabulary, model.hidden)
        self.load(model.state_dict())

    def reset(self, batch: int) -> None:
        self.state = tuple(self.E.new_zeros(batch, self.model.hidden) for _ in range(self.model.states))

    @torch.no_grad()
    def train(
        self, x: Tensor, y: Tensor, masks: Masks | None, *, learning_rate: float, reduction: str, clip_norm: float
    ) -> float:
        share = compute_word_share(reduction, *x.shape)
        inputs_mask, softmax_mask = masks or (None, None)
        inputs = self._list_inputs(x, inputs_mask)
        window = self.recurrent.run(x, self.input.multiply(inputs), self.state)
        self.state = window.state
        softmax_input = SparseMatrix(self.library, window.h, softmax_mask)
        loss, dh, dW_o, db_o = self.output.differentiate(softmax_input, y.flatten(), share)
        if masks is not None:
            dh.mul_(softmax_mask.flatten(0, 1))
        da, recurrent_gradients = self.recurrent.run_back(window, dh)
        de, dW = self.input.differentiate(inputs, da)
        if masks is not None:
            de.mul_(inputs_mask.flatten(0, 1))
        present, place = x.flatten().unique(return_inverse=True)
        dE = de.new_zeros(len(present), de.shape[1]).index_add_(0, place, de)
        gradients = [
            (self.E, present, dE),
            (self.input.W.values, None, dW),
            *recurrent_gradients,
            (self.output.W.values, None, dW_o),
            (self.output.biases, None, db_o),
        ]
        step = learning_rate * compute_clipping_factor((g for _, _, g in gradients), clip_norm, by_rows=True)
        for parameter, rows, gradient in gradients:
            if rows is None:
                parameter.sub_(gradient, alpha=step)
            else:
                parameter.index_add_(0, rows, gradient, alpha=-step)
        return loss

    @torch.no_grad()
    def evaluate(self, x: Tensor, y: Tensor) -> float:
        window = self.recurrent.run(x, self.input.multiply(self._list_inputs(x, None, by_columns=False)), self.state)
        self.state = window.state
        return self.output.evaluate(window.h, y.flatten())

    def _list_inputs(self, x: Tensor, mask: Tensor | None, by_columns: bool = True) -> SparseMatrix:
        """Return the embeddings of words x (T, B) times their mask (T, B, E) or None, as (T B, E)."""
        build.require_symbols(x, self.model.vocabulary, "words")
        return SparseMatrix(self.library, self.E[x.flatten()], mask, by_columns)

    def export(self) -> dict[str, Tensor]:
        inputs = zip(self.input_names, self.input.W.export().split(self.model.hidden), strict=True)
        values = {"E": self.E, "W_o": self.output.W.export(), "b_o": self.output.b_o}
        values |= self.recurrent.view_parameters() | dict(inputs)
        return {name: values[name].clone() for name, _ in self.model.named_parameters()}

    def load(self, state: dict[str, Tensor]) -> None:
        copy_state({"E": self.E} | self.recurrent.view_parameters(), state)
        self.input.W.load(torch.cat([state[name] for name in self.input_names]))
        self.output.load(state["W_o"], state["b_o"])
