"""Stacks of log-linear RNNs (document 004): features of types as matrices of their classes, which `vmap` can follow.

Types with the same features form a class (`Classes`). psi(x) E is a product with the tags of x's class, and the
normaliser of equation 13 is a sum over classes. Both are what the readable model computes with sparse matrices.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.engines.loglinear.classes import Classes, compute_class_scores
from reprise.engines.loglinear.reference import LogLinearLoss
from reprise.engines.stack.member import Member, find_distinct
from reprise.engines.stack.optimisers import RMSProp
from reprise.engines.stack.programs import Tensors
from reprise.models.loglinear import LogLinearRNN


class ClassLogLinearRNN(nn.Module):
    """`LogLinearRNN` with the same parameters; what it knows of types is in dense buffers."""

    get_layer, initial_state = LogLinearRNN.get_layer, LogLinearRNN.initial_state
    compute_states, compute_adaptors = LogLinearRNN.compute_states, LogLinearRNN.compute_adaptors

    def __init__(self, model: LogLinearRNN) -> None:
        super().__init__()
        self.H, self.layers, self.gate = model.H, model.layers, model.gate
        for name, value in model.named_parameters():
            self.register_parameter(name, nn.Parameter(value.detach().clone()))
        like, matrix = model.E.detach(), model.features.matrix if model.features else None
        self.reads_features, self.predicts_features = model.psi_rows is matrix, model.phi_rows is matrix
        self.register_buffer("log_b", model.log_b.to(like.dtype))
        if matrix is None:
            return
        classes = Classes.from_features(model.features, like)
        self.identities = classes.identities
        log_mass = classes.compute_log_mass(model.log_b)
        self.register_buffer("class_of_type", classes.class_of_type)
        self.register_buffer("tags", classes.tags)
        self.register_buffer("log_mass", log_mass.to(like.dtype))
        self.register_buffer(
            "log_share", (model.log_b - log_mass[classes.class_of_type]).to(like.dtype)
        )  # log b(x) / B_c

    def embed(self, words: Tensor) -> Tensor:
        """Compute psi(x) E (T, B, D) of words (T, B), given as places among the embeddings that were gathered."""
        return functional.embedding(words, self.E)

    def compute_log_p(self, a: Tensor, y: Tensor | None = None) -> Tensor:
        """Compute log p (13), by adaptors a (n, F), of all types (n, V), or of the types y (n,) alone."""
        if not self.predicts_features:
            log_p = torch.log_softmax(self.log_b + a, 1)
            return log_p if y is None else log_p.gather(1, y[:, None])[:, 0]
        scores = compute_class_scores(a, self.tags, self.identities, self.log_mass)
        log_p = torch.log_softmax(scores, 1)  # of the classes
        if y is None:
            return log_p[:, self.class_of_type] + self.log_share
        return log_p.gather(1, self.class_of_type[y][:, None])[:, 0] + self.log_share[y]


class LogLinearMember(LogLinearLoss, Member):
    """Windows of words; `rho` and the epsilons are those which the member was made with."""

    def __init__(self, stack: Any, model: LogLinearRNN, optimiser: RMSProp) -> None:
        class_model = ClassLogLinearRNN(model)
        super().__init__(stack, class_model, optimiser)
        self.constants = {f"model.{name}": value.to(stack.device) for name, value in class_model.named_buffers()}
        self.class_of_type = class_model.class_of_type.numpy() if class_model.reads_features else None
        self.identities = class_model.identities if class_model.reads_features else 0
        self.row_count = len(class_model.tags if class_model.reads_features else class_model.E)
        self.feature_count = len(class_model.E)
        self.rows = {"E": "rows"} if self.identities or not class_model.reads_features else {}
        self.make_initial_state = model.initial_state

    def make_word_inputs(self, x: Tensor) -> Tensors:
        """Return words x (T, B) as places among the distinct types, or classes, and the rows of E that these read."""
        if self.class_of_type is None:
            return dict(zip(("rows", "x"), find_distinct(x.numpy(), self.row_count), strict=True))
        classes, places = find_distinct(self.class_of_type[x.numpy()], self.row_count)
        inputs = {"x": places, "classes": classes.clamp(min=0)}
        if self.identities:  # rows of the classes' identities (classes from M on share one), then those of all tags
            identities = classes.clamp(max=self.identities - 1).numpy()
            rows, identity = find_distinct(identities[identities >= 0], self.feature_count, len(identities))
            inputs["identity"] = functional.pad(identity, (0, len(identities) - len(identity)))
            inputs["rows"] = torch.cat([rows, torch.arange(self.identities, self.feature_count)])
        return inputs

    def expand_rows(self, parameters: Tensors, batch: Tensors) -> Tensors:
        """See `Member`: psi E of the batch's classes, each the sum of its features' rows."""
        if self.class_of_type is None:
            return parameters
        E, tags = parameters["E"], self.constants["model.tags"][batch["classes"]]
        e = tags @ E[len(E) - tags.shape[-1] :]
        return parameters | {"E": e + E[batch["identity"]] if self.identities else e}

    def compute_log_p(self, y: Tensor, model: nn.Module, a: Tensor) -> Tensor:
        """See `LogLinearLoss`; by classes, not by types."""
        return model.compute_log_p(a, y)
