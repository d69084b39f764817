"""Any torch module as a language model, on streams of words or characters, from torch's own parts.

The module has `forward(x, state) -> (logits, state)`, with x (T, B) integers and logits (T, B, V). It also has
`initial_state(B)`, a tensor or a tuple of them, batch in any axis. Dropout is the module's own.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from reprise.catalogue.models import ModelRefused
from reprise.catalogue.options.language_model import parse_initialisation
from reprise.data.corpus import SPLITS
from reprise.engines.choice import choose_reference
from reprise.engines.stack import NAME as STACKED
from reprise.engines.stack import Stack
from reprise.errors import UserError
from reprise.records.record import Outcome
from reprise.training.epochs import RateSchedule, cut_streams
from reprise.training.protocol import PieceOfWork, map_tensors

_LOG = logging.getLogger(__name__)

_LAWS: dict[str, Callable[..., Any]] = {
    "zero": nn.init.zeros_,
    "constant": nn.init.constant_,
    "uniform": lambda parameter, a: nn.init.uniform_(parameter, -a, a),
    "normal": lambda parameter, std: nn.init.normal_(parameter, 0.0, std),
    "orthogonal": nn.init.orthogonal_,
    "xavier": nn.init.xavier_uniform_,
}
_LAWS_OF_MATRICES = ("orthogonal", "xavier")
_READ_WINDOWS = 35
"""Windows of one stream that are read at once where nothing is learnt: as many tokens as so many windows have."""


class LanguageModel(RateSchedule):
    """Epochs over the training text in parallel streams, each followed by the validation and the test text.

    A text is one stream: where it has sentences, each ends with `</s>`, which is also read before the first word. For
    training it is cut into `batch_size` streams of equal length, what remains is left out. Validation and test text are
    read in one stream, the state carried. The losses that are reported are those of the epoch with the lowest
    validation loss.

    Random numbers are torch's own, by `torch.manual_seed` before the module is made. Their state is saved: a training
    that was stopped goes on to the same bits.

    A stack gives its device. Its members take turns, each with its own module: nobody knows whether any module can be
    computed for several members at once. So each comes to the bits that it has alone.
    """

    NEXT_UNIT = "step"
    CHECKPOINT_ATTRIBUTES = (*RateSchedule.CHECKPOINT_ATTRIBUTES, "carried", "starts", "random")
    piece_size = 1

    def prepare(self) -> None:
        loaded = self.load_corpus(*SPLITS)
        self.data = cut_streams(loaded, self.options["batch_size"])
        if not len(self.data["train"][0]):
            raise UserError(f"{self.path}: the training text has fewer tokens than batch_size streams; lower it")
        self.interval = self.options["update_interval"] or self.options["bptt"]
        stacked = isinstance(self.requested_engine, Stack)
        self.device = self.requested_engine.device if stacked else torch.device("cpu")
        self.data = {split: tuple(part.to(self.device).long() for part in both) for split, both in self.data.items()}
        self.random: list[Tensor] = []
        with self._use_own_random_numbers():
            torch.manual_seed(self.seed)
            model = self.build_model(vocabulary=len(loaded.vocabulary))
            initialise(model, self.options["initialisation"])
        check_contract(model, len(loaded.vocabulary))
        self.model = model.to(self.device, self.dtype)
        self.parameter_count = sum(p.numel() for p in model.parameters())
        self.engine = choose_reference("auto" if stacked else self.requested_engine, self.model)
        self.engine_name = STACKED if stacked else self.engine.name
        self.set_optimiser(self._make_optimiser)
        self.unigram = compute_unigram_loss(
            loaded.splits["train"].tokens, loaded.splits["valid"].tokens, len(loaded.vocabulary)
        )
        self.carried: Any = None
        self.starts: list[Any] = []  # states before the last updates, as far back as gradients go
        self.set_up_schedule({split: y.numel() for split, (_, y) in self.data.items()}, loaded)

    def _make_optimiser(self, parameters: Any) -> torch.optim.Optimizer:
        settings = {"lr": self.options["learning_rate"], "weight_decay": self.options["weight_decay"]}
        match self.options["optimiser"]:
            case "sgd":
                return torch.optim.SGD(parameters, momentum=self.options["momentum"], **settings)
            case "rmsprop":
                return torch.optim.RMSprop(parameters, momentum=self.options["momentum"], **settings)
        return torch.optim.Adam(parameters, **settings)

    def begin_part(self, part: str) -> None:
        super().begin_part(part)
        self.carried, self.starts = None, []

    def get_length(self) -> int:
        return len(self.data[self.part][0])

    def process_next(self) -> PieceOfWork:
        training, (x, y) = self.part == "train", self.data[self.part]
        size = self.interval if training else self.options["bptt"] * _READ_WINDOWS
        first, self.next = self.next, min(self.next + size, self.get_length())
        with self._use_own_random_numbers():
            nats = self._train(x, y, first) if training else self._read(x, y, first)
        yield from ()  # computed already: a stack is asked for nothing
        return nats

    @contextmanager
    def _use_own_random_numbers(self) -> Iterator[None]:
        """Draw torch's random numbers where this training left off, and leave those of others as they are."""
        gpu = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=gpu):
            for state, place in zip(self.random, (None, *gpu), strict=False):
                torch.cuda.set_rng_state(state, place) if place else torch.set_rng_state(state)
            yield
            self.random = [torch.get_rng_state(), *(torch.cuda.get_rng_state(place) for place in gpu)]

    def _read(self, x: Tensor, y: Tensor, first: int) -> float:
        self.model.eval()
        with torch.no_grad():
            state = self._make_state(1) if self.carried is None else self.carried
            logits, self.carried = self.model(x[first : self.next], state)
            return float(
                functional.cross_entropy(logits.flatten(0, 1), y[first : self.next].flatten(), reduction="sum")
            )

    def _train(self, x: Tensor, y: Tensor, first: int) -> float:
        """Make one update on the next tokens.

        The gradient goes at most `bptt` tokens back, to the earliest update boundary among them.
        """
        self.model.train()
        streams = x.shape[1]
        fresh = self.carried is None or self.options["states"] == "reset"
        state = self._make_state(streams) if fresh else self.carried
        self.starts = [*([] if self.options["states"] == "reset" else self.starts), (first, state)]
        back = max(self.next - self.options["bptt"], 0)
        self.starts = [(at, before) for at, before in self.starts if at >= back]
        begin, state = self.starts[0]
        if begin < first:  # apart, for of these tokens no logits are differentiated
            _, state = self.model(x[begin:first], state)
        logits, after = self.model(x[first : self.next], state)
        nats = functional.cross_entropy(logits.flatten(0, 1), y[first : self.next].flatten(), reduction="sum")
        tokens = (self.next - first) * streams
        loss = nats / (tokens if self.options["loss_reduction"] == "mean" else streams)
        self.optimiser.zero_grad()
        loss.backward()
        self.clip()
        self.optimiser.step()
        self.carried = map_tensors(Tensor.detach, after)
        return nats.item()

    def _make_state(self, streams: int) -> Any:
        return map_tensors(self._move, self.model.initial_state(streams))

    def _move(self, tensor: Tensor) -> Tensor:
        """Bring a tensor of a state to the device; its numbers that are no integers have the dtype of the model."""
        return tensor.detach().to(self.device, self.dtype if tensor.is_floating_point() else tensor.dtype)

    def compute_next_log_p(self, symbols: Tensor) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            logits, _ = self.model(symbols[:, None], self._make_state(1))
        return torch.log_softmax(logits[-1, 0], -1)

    def clip(self) -> None:
        """Clip the gradients as the options say."""
        match self.options["clipping"]:
            case "norm":
                clip_grad_norm_(self.model.parameters(), self.options["clip"])
            case "value":
                clip_grad_value_(self.model.parameters(), self.options["clip"])

    @property
    def is_last_epoch(self) -> bool:
        patience = self.options["patience"]
        return self.epoch >= self.total or bool(patience and self.failures >= patience)

    def update_learning_rate(self, losses: Mapping[str, float]) -> None:
        better = all(losses["valid"] < epoch["valid"] for epoch in self.history)
        self.failures = 0 if better else self.failures + 1
        schedule = self.options["schedule"]
        late = schedule == "after-epoch" and self.epoch >= self.options["decay_after"]
        if late or (schedule == "on-stall" and not better):
            self.learning_rate /= self.options["decay_factor"]
            for group in self.optimiser.param_groups:
                group["lr"] = self.learning_rate
        if self.options["undo_worse"] and not better:
            self.load_parameters(self.best)

    def make_outcome(self) -> Outcome:
        """Report losses at the best epoch and the curves; warn of a model above the unigram."""
        if self.history and self.history[self.best_epoch - 1]["valid"] > self.unigram:
            message = "%s: the validation loss of every epoch is above the unigram's, %.3f nats per token"
            _LOG.warning(message, self.config["model"]["name"], self.unigram)
        return super().make_outcome()

    def get_state(self) -> dict[str, Any]:
        return super().get_state() | {"carried": map_tensors(Tensor.clone, self.carried)}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.carried = map_tensors(self._move, self.carried)
        self.starts = [(first, map_tensors(self._move, before)) for first, before in self.starts]


def compute_unigram_loss(training: np.ndarray, held_out: np.ndarray, vocabulary: int) -> float:
    """Compute a held-out text's cross-entropy (nats/token) under the training text's frequencies plus one each."""
    counts = np.bincount(training, minlength=vocabulary) + 1.0
    return float(-np.log(counts / counts.sum())[held_out].mean())


def initialise(model: nn.Module, table: str) -> None:
    """Draw parameters by a table "<pattern>: <law>, ...", in the order of their registration.

    Raises:
        ModelRefused: A pattern matches no parameter's name, or a law for matrices matches a vector's.
    """
    laws = parse_initialisation(table)
    unused = set(laws)
    for name, parameter in model.named_parameters():
        matching = next((pattern for pattern in laws if fnmatchcase(name, pattern)), None)
        if matching is not None:
            unused.discard(matching)
            law, numbers = laws[matching]
            if law in _LAWS_OF_MATRICES and parameter.dim() < 2:
                raise ModelRefused(f"'{matching}: {law}' matches {name}, which is no matrix; correct the pattern")
            _LAWS[law](parameter, *numbers)
    if unused:
        raise ModelRefused(f"no parameter has a name like '{min(unused)}'; correct the pattern")


def check_contract(model: nn.Module, vocabulary: int) -> None:
    """Make a first step on three tokens of two streams: with as many tokens as streams, swapped axes would pass.

    Raises:
        UserError: where the module has no `initial_state`, or gives no logits of the vocabulary and a state.
    """
    name, asks = type(model).__name__, "forward(x, state) -> (logits (T, B, V), state) and initial_state(B)"
    if not hasattr(model, "initial_state"):
        raise UserError(f"{name}: it has no initial_state(B); a language model has {asks}")
    training = model.training
    with torch.no_grad():
        initial = model.initial_state(2)
        output = model.eval()(torch.zeros(3, 2, dtype=torch.int64), initial)
    model.train(training)
    logits = output[0] if isinstance(output, tuple) and len(output) == 2 else output
    shape = tuple(getattr(logits, "shape", ()))
    if logits is output or shape != (3, 2, vocabulary):
        returned = f"{type(output).__name__} {shape}"
        raise UserError(f"{name}: forward gives {returned} for x (3, 2), V = {vocabulary}; a language model has {asks}")
    tensors, expected = (len(_list_tensors(state)) for state in (output[1], initial))
    if tensors != expected:
        problem = f"forward gives a state of {tensors} tensors, initial_state one of {expected}"
        raise UserError(f"{name}: {problem}; a language model has {asks}")


def _list_tensors(state: Any) -> list[Tensor]:
    tensors: list[Tensor] = []
    map_tensors(lambda tensor: tensors.append(tensor) or tensor, state)
    return tensors
