"""The base of every protocol: pieces of work, between which a training can be saved, and an outcome at the end."""

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from reprise.catalogue.models import MODELS, ModelRefused, find_model
from reprise.catalogue.own import find_own_place
from reprise.catalogue.protocols import PROTOCOLS
from reprise.data.corpus import SENTENCE_END, SPLITS, Corpus
from reprise.engines.clipping import clip_gradients
from reprise.engines.readable import LossReceiver
from reprise.engines.stack import Member, Stack, compute_result, join_stack
from reprise.errors import UserError, is_memory_error, shorten
from reprise.files import dump_canonical_json
from reprise.records.record import Outcome
from reprise.records.resolved import Resolved

Engine = str | Stack
"""A protocol computes with one of these: an engine by its name, or the stack that its replica is a member of."""

PieceOfWork = Generator[Any, Any, Any]
"""A generator that yields the value of each engine call and receives its result.

Outside a stack the two are the same. In a stack the value is a `Request`, which the stack answers.
"""


class Diverged(Exception):
    """A loss or a parameter is not finite any more: `details` has the quantity, and epoch (from 1) or step (from 0)."""

    def __init__(self, **details: Any) -> None:
        super().__init__(", ".join(f"{k} {v}" for k, v in details.items()))
        self.details = details


class Training(ABC):
    """The training of replica `seed`, with the model and the settings of `config`, see `Resolved`.

    `get_state` returns everything that decides its numbers: what has been learnt, and the CHECKPOINT_ATTRIBUTES.
    """

    CHECKPOINT_ATTRIBUTES: tuple[str, ...] = ()
    unit: str
    total: int
    parameter_count: int
    engine_name: str
    vocabulary_sha256: str | None = None

    def __init__(self, config: dict[str, Any], seed: int, corpus: Path | None, engine: Engine) -> None:
        self.config, self.seed, self.path, self.requested_engine = config, seed, corpus, engine
        self.protocol, self.options = config["training"]["protocol"], config["training"]["options"]
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Read the data and make the model. Raises `UserError`."""

    @property
    @abstractmethod
    def done(self) -> float:
        """Return the progress towards `total`, counted in `unit`."""

    @property
    def dtype(self) -> torch.dtype:
        """Return the precision that the model computes in."""
        return getattr(torch, self.config["precision"])

    @property
    def finished(self) -> bool:
        return self.done >= self.total

    @abstractmethod
    def advance(self) -> str:
        """Do one piece of work, of about a second at most; return a note on it. Raises `Diverged`."""

    @abstractmethod
    def make_outcome(self) -> Outcome:
        """Return what a record holds of the training as it is now."""

    def get_state(self) -> dict[str, Any]:
        attributes = {name: getattr(self, name) for name in self.CHECKPOINT_ATTRIBUTES}
        return {name: v.get_state() if isinstance(v, torch.Generator) else v for name, v in attributes.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        for name in self.CHECKPOINT_ATTRIBUTES:
            if isinstance(value := getattr(self, name), torch.Generator):
                value.set_state(state[name])
            else:
                setattr(self, name, state[name])

    def get_reported_parameters(self) -> dict[str, Tensor] | None:
        """Return the parameters that the outcome is of, a state_dict; None where nothing is learnt."""
        return None

    def load_corpus(self, *splits: str) -> Corpus:
        """Load the corpus of the training.

        Raises:
            UserError: There is none, the file is no corpus, it was made from other data, or it lacks one of the splits.
        """
        if self.path is None:
            raise UserError("this protocol needs a prepared corpus; name it with --corpus")
        corpus = Corpus.load(self.path)
        self._require_configured_data(corpus)
        self.vocabulary_sha256 = hashlib.sha256(dump_canonical_json(corpus.vocabulary).encode()).hexdigest()
        if missing := [split for split in splits if split not in corpus.splits]:
            raise UserError(f"{self.path}: no {missing[0]} split, {self._requirement}")
        return corpus

    def _require_configured_data(self, corpus: Corpus) -> None:
        """Raise `UserError` for a corpus of another dataset, other options or other raw files than configured."""
        made_from = corpus.provenance
        if not made_from:  # no preparation wrote it, so it says nothing of its data
            return
        data = self.config["data"]
        # An option that was added later is missing in an older corpus, which has its default.
        options = {name: made_from.get("options", {}).get(name, value) for name, value in data["options"].items()}
        for key, made_value in (made_from | {"options": options}).items():
            if made_value != data[key]:
                raise UserError(
                    f"{self.path}: key provenance.{key}: {shorten(made_value)}, not {shorten(data[key])}; "
                    "name the experiment's own corpus, or omit --corpus and make it with `reprise prepare`"
                )

    def load_words(self, running: bool = True) -> Corpus:
        """Load a corpus of words: three splits of sentences that end with `</s>` or, if allowed, of `running` text.

        Raises:
            UserError: As `load_corpus`; or the corpus has lines of symbols, or running text where that is not allowed.
        """
        corpus = self.load_corpus(*SPLITS)
        if corpus.boundaries not in (SENTENCE_END, "none"):
            raise UserError(f"{self.path}: lines of symbols, and no words, {self._requirement}")
        if corpus.boundaries == "none" and not running:
            raise UserError(f"{self.path}: running text without the sentences, {self._requirement}")
        return corpus

    @property
    def _requirement(self) -> str:
        return f"which the protocol {self.protocol} needs; name another dataset"

    def select_lines_by_part(self, corpus: Corpus) -> dict[str, np.ndarray]:
        """Return the numbers of the lines (n,) of each part: to train on, to choose the epoch by, and to test on.

        Raises:
            UserError: The corpus has no fold of the replica's number, or a part has no token to predict.
        """
        folds, fold, path = corpus.extra.get("part"), self.seed, self.path
        if folds is None:
            raise UserError(f"{path}: this corpus has no folds; the protocol {self.protocol} needs them")
        if fold >= len(folds):
            raise UserError(f"replica {fold}: {path} has {len(folds)} folds, one a replica; ask for fewer replicas")
        parts = {name: np.flatnonzero(folds[fold] == number) for number, name in enumerate(SPLITS)}
        lengths = np.diff(corpus.splits["lines"].offsets)
        for name, lines in parts.items():
            if not (lengths[lines] > 1).any():
                raise UserError(f"{path}: the {name} lines of fold {fold} have nothing to predict; use more lines")
        return parts

    def build_model(self, **sizes: Any) -> Any:
        """Make the readable model that is configured; `sizes` are what the corpus decides."""
        model = self.config["model"]
        return find_model(model["name"]).build(model["options"], **sizes)

    def make_generator(self, stream: str) -> torch.Generator:
        """Make the replica's generator for one purpose, see `derive_generator`."""
        return derive_generator(self.seed, stream)


class Pieces(Training):
    """A computation without learning, in `total` pieces, each with an entry of `results`."""

    CHECKPOINT_ATTRIBUTES = ("results",)
    engine_name = "numpy"
    parameter_count = 0

    def __init__(self, *arguments: Any) -> None:
        self.results: list[Any] = []
        super().__init__(*arguments)

    @property
    def done(self) -> float:
        return len(self.results)


def run_alone(piece: PieceOfWork) -> Any:
    """Do a piece of work by itself and return its result."""
    result = None
    while True:
        try:
            result = compute_result(piece.send(result))
        except StopIteration as end:
            return end.value


class Learner(Training):
    """A training that learns: its `engine`, alone or a member of a stack, computes with the readable model.

    Some engines hold the parameters and make the updates themselves. For any other engine the protocol has an
    `optimiser` of the `model`'s parameters. It calls `update`, or `read` for a loss without an update. A member of a
    stack is its own optimiser.
    """

    STATE_ATTRIBUTE = ""
    """The attribute of the engine that it carries from batch to batch, tensors in tuples of any depth."""

    model: nn.Module
    optimiser: Any = None
    loss_receivers: Mapping[str, LossReceiver] = MappingProxyType({})
    """What takes the losses of single words while `measure` reads a text, by the text's name; see `read_words`."""

    @abstractmethod
    def run_piece(self) -> PieceOfWork:
        """Do one piece of work, of about a second at most; return a note on it. Raises `Diverged`."""

    def advance(self) -> str:
        return run_alone(self.run_piece())

    def build_engine(self, model: nn.Module, choose_engine: Callable[[str, nn.Module], Any]) -> None:
        """Make the engine that `choose_engine` has for the model, whose first weights are in float32."""
        self.model = model.to(dtype=self.dtype)
        self.parameter_count = sum(p.numel() for p in model.parameters())
        if isinstance(self.requested_engine, Stack):
            self.engine = join_stack(self.requested_engine, self.protocol, model, self.options)
        else:
            self.engine = choose_engine(self.requested_engine, model)
        self.engine_name = self.engine.name

    def set_optimiser(self, optimiser: Callable[[Iterable[nn.Parameter]], Any]) -> None:
        """Set the optimiser, made of the model's parameters; a member of a stack is its own."""
        self.optimiser = self.engine if isinstance(self.engine, Member) else optimiser(self.model.parameters())

    def use_adam(self, fused: bool | None = None) -> None:
        self.set_optimiser(lambda parameters: torch.optim.Adam(parameters, self.options["learning_rate"], fused=fused))

    @property
    def _engine_updates(self) -> bool:
        """Return whether the engine has the parameters, and makes the updates."""
        return self.optimiser in (None, self.engine)

    def update(self, *batch: Any) -> Any:
        """Make one step on a batch; return the second part of `loss`, from before it."""
        if self._engine_updates:
            return self.engine.update(*batch, self.options["learning_rate"])
        outputs = self.differentiate(*batch)
        self.clip()
        self.optimiser.step()
        return outputs

    @torch.no_grad()
    def read(self, *batch: Any) -> Any:
        """Return the second part of `loss` of a batch."""
        return self.engine.read(*batch) if self._engine_updates else self.loss(*batch)[1]

    def differentiate(self, *batch: Any) -> Any:
        """Leave the gradients of a batch in the model's parameters; return the second part of `loss`."""
        loss, outputs = self.loss(*batch)
        self.model.zero_grad()
        loss.backward()
        return outputs

    def loss(self, *batch: Any) -> tuple[Tensor, Any]:
        """Compute a batch's loss by the readable model, and numbers for the protocol.

        For engines that do not differentiate themselves.
        """
        raise NotImplementedError

    def clip(self) -> None:
        """Shorten the gradients to the configured norm."""
        clip_gradients(self.model.parameters(), self.options["clip_norm"])

    def get_readable_model(self) -> nn.Module:
        """Return the readable model with the parameters as they are now."""
        if self._engine_updates:
            self.model.load_state_dict(self.engine.export())
        return self.model

    def copy_parameters(self) -> dict[str, Tensor]:
        """Return copies of the parameters as they are now, a state_dict of the readable model."""
        if self._engine_updates:
            return self.engine.export()
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def get_reported_parameters(self) -> dict[str, Tensor]:
        return self.copy_parameters()

    def measure(self, report_progress: Callable[[str], None]) -> Outcome:
        """Measure, with the loaded parameters, what a record reports of texts that are only read.

        Args:
            report_progress: Takes a line that says what is being read.

        Raises:
            UserError: The protocol reports nothing of that kind.
        """
        raise UserError(f"the protocol {self.protocol} reports numbers of the training alone; there is none to measure")

    def move_to_gpu(self) -> None:
        """Make the readable model read on a GPU from now on.

        Raises:
            UserError: There is none, or the protocol reads on the CPU alone.
        """
        if not torch.cuda.is_available():
            raise UserError("--device cuda: no GPU is visible to torch; write --device cpu")
        if not hasattr(self.engine, "evaluate"):
            raise UserError(f"--device cuda: the protocol {self.protocol} is measured on the CPU; write --device cpu")
        self.engine.model.to("cuda")

    def read_words(self, split: str, receive_losses: LossReceiver) -> None:
        """Read a text by the readable model; `receive_losses` takes the losses of its words, some at a time.

        Raises:
            UserError: The protocol predicts no words one by one, or the text has no such split.
        """
        raise UserError(f"--by-count: the protocol {self.protocol} has no losses of single words; omit it")

    def compute_next_log_p(self, symbols: Tensor) -> Tensor:
        """Compute log p (V,), in nats, of the symbol after these (T,), by the readable model.

        Raises:
            UserError: The model writes no text.
        """
        raise UserError(f"the protocol {self.protocol} trains no model that writes a text")

    @property
    def reported_position(self) -> dict[str, int]:
        """Return which epoch or step the reported parameters are of."""
        return {self.unit: int(self.done)}

    def load_parameters(self, parameters: Mapping[str, Tensor]) -> None:
        """Load parameters, a state_dict of the readable model."""
        (self.engine.load if self._engine_updates else self.model.load_state_dict)(parameters)

    def get_state(self) -> dict[str, Any]:
        learnt = {"parameters": self.engine.export() if self._engine_updates else self.model.state_dict()}
        if self.optimiser is not None:
            learnt["optimiser"] = self.optimiser.state_dict()
        if self.STATE_ATTRIBUTE:
            learnt["carried"] = map_tensors(Tensor.clone, getattr(self.engine, self.STATE_ATTRIBUTE))
        return learnt | super().get_state()

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.load_parameters(state["parameters"])
        if self.optimiser is not None:
            self.optimiser.load_state_dict(state["optimiser"])
        if self.STATE_ATTRIBUTE:
            setattr(self.engine, self.STATE_ATTRIBUTE, state["carried"])


def map_tensors(function: Callable[[Tensor], Tensor], state: Any) -> Any:
    """Apply a function to the tensors of a state, in tuples of any depth; None stays so."""
    if isinstance(state, tuple | list):
        return tuple(map_tensors(function, part) for part in state)
    return None if state is None else function(state)


class Steps(Learner):
    """Steps 0, 1, …, `steps` - 1, `piece_size` of them a piece of work."""

    unit = "step"
    piece_size: int
    step = 0

    @abstractmethod
    def take_step(self) -> PieceOfWork:
        """Make a step; return a note on it. Raises `Diverged`."""

    def check_loss(self, loss: float) -> None:
        """Raise `Diverged` unless the step's loss is finite."""
        if not math.isfinite(loss):
            raise Diverged(step=self.step, quantity="training loss")

    @property
    def done(self) -> float:
        return self.step

    def run_piece(self) -> PieceOfWork:
        for _ in range(min(self.piece_size, self.total - self.step)):
            note = yield from self.take_step()
            self.step += 1
        return note


def find_training_class(resolved: Resolved) -> type[Training]:
    """Return the class of the protocol that `resolved.config` names."""
    return resolve_name(PROTOCOLS[resolved.config["training"]["protocol"]].target)


def build_training(resolved: Resolved, replica: int, corpus: Path | None, engine: Engine) -> Training:
    """Make the training that `resolved.config` names, before its first step.

    Args:
        resolved: The experiment.
        replica: The seed, or the fold.
        corpus: The prepared corpus; None for a protocol that needs none.
        engine: An engine by its name, or a stack, of which the training is then a member.

    Raises:
        UserError: The model refuses an option, or the corpus does not fit.
    """
    try:
        return find_training_class(resolved)(resolved.config, replica, corpus, engine)
    except ModelRefused as error:
        file, model = f"config/papers/{resolved.paper}.yaml", resolved.config["model"]["name"]
        raise UserError(f"{resolved.id}: model {model}: {error}; change the option in {file}") from error


@contextmanager
def report_model(resolved: Resolved) -> Iterator[None]:
    """Report in one line what a model file outside of this package gets wrong; our own errors keep their traceback.

    Raises:
        UserError: The user's file raised an error, or its model lacks an attribute that the protocol reads.
    """
    try:
        yield
    except (Exception, SystemExit) as error:  # exit(0) would end the command as if all were well
        if resolved.is_check or isinstance(error, (UserError, OSError)) or is_memory_error(error):
            raise
        name, protocol = resolved.config["model"]["name"], resolved.config["training"]["protocol"]
        place = find_own_place(error, find_model(name).target.partition(":")[0])
        if place is None:
            raise
        like = [MODELS[other].file for other in PROTOCOLS[protocol].models if other not in ("none", name)]
        remedy = f"; what the protocol needs of a model is in {like[0]}" if like else ""
        where = f"while the protocol {protocol} trained the model {name}{remedy}"
        kind, message = type(error).__name__, str(error).partition("\n")[0]
        raise UserError(": ".join(filter(None, (place, kind, message, where)))) from error


def derive_generator(seed: int, stream: str) -> torch.Generator:
    """Make a CPU generator for one purpose ("weights", "data", …) of one replica; streams are independent."""
    digest = hashlib.sha256(f"{seed}/{stream}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
