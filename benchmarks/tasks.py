"""Tasks of the benchmarks, as files that every implementation gets: a workload, text, initial weights.

Only numpy is needed to read them: the process of JAX imports no torch.

The module of a family of models has a Workload, a Task, an Engine, `build_model(task, generator)` and
`make_member(stack, model)`. The latter makes a member of a stack that trains as the Engine does.
"""

import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from reprise.data.corpus import SENTENCE_END, Corpus, Split, compute_offsets
from reprise.errors import UserError

CORPORA = Path("data/corpora")
SEED = 1

SENTENCE_MEAN, SENTENCE_DEVIATION = 22.1, 10.1
"""Words in a sentence of the training text of the Penn Treebank, </s> included."""

RANDOM_WORDS = "random words of a Zipf-Mandelbrot law"


class DescribedWorkload:
    """A workload: a dataclass of a model's sizes, and what follows from these, by the names in `derived`."""

    derived = ("weight_bytes",)

    def describe(self) -> dict[str, Any]:
        """Return the sizes, for people."""
        return asdict(self) | {name: getattr(self, name) for name in self.derived}


class TableRow(NamedTuple):
    """A row of the table of speeds: workload, its title, what is counted, the peers and their names."""

    workload: str
    title: str
    counted: str
    peers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is trained on: pieces of a text, and the `weights` of the readable model as it starts, its state_dict.

    `block`: implementations are checked on so many pieces, of `len(task)`. `count_tokens(first, last)` tokens are
    predicted in pieces first .. last-1.
    """

    workload: Any
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)
    block = 1

    @property
    def flops_a_token(self) -> float:
        """Return the operations of our engine's products a token, forward, backward and update."""
        return self.workload.flops_a_token

    @property
    def traffic(self) -> list[tuple[float, int]]:
        """Return bytes a token that are read and written of some weights, and the bytes of those weights, by kind."""
        return [(self.bytes_a_token, self.workload.weight_bytes)]


@dataclass(frozen=True, kw_only=True)
class Windows(Task):
    """Windows that are read, x (n, T, B) int32, and what is predicted, y (n, T, B) or (n, B) int32."""

    x: np.ndarray
    y: np.ndarray
    block = 3  # a state may be carried, and RMSProp's first step alone shows little but signs

    def __len__(self) -> int:
        return len(self.x)

    def count_tokens(self, first: int, last: int) -> int:
        return self.y[first:last].size


class Implementation:
    """One way to train on a task.

    It has `step(piece)`, which trains on a piece and returns its summed loss in nats, or a `train` of its own. Its
    `parameters()` are in the readable model's shapes. One with `log_perplexity()` computes that of its first piece
    before any training.
    """

    block = 1
    """It trains on whole multiples of so many pieces (subsequences, windows, batches)."""
    replicas = 1
    """So many train at once, each on all of the pieces."""

    def train(self, first: int, last: int) -> float:
        """Train on pieces first .. last-1; return their summed loss in nats."""
        return sum(self.step(piece) for piece in range(first, last))


class Engine(Implementation):
    """The engine called `name`, or a member of a stack, in the way the training protocol calls it."""

    def __init__(self, task: Any, name: str, double: bool = False, device: str = "cpu", member: Any = None) -> None:
        self.task, self.device, self.engine, self.stacked = task, device, member, member is not None
        if not self.stacked:
            model = make_readable_model(task)
            choose_engine = import_module(
                find_family(task).__name__.replace("benchmarks", "reprise.engines")
            ).choose_engine
            self.engine = choose_engine(name, (model.double() if double else model).to(device))
        self.prepare()

    def prepare(self) -> None:
        """Make of the task what the engine takes."""
        self.x, self.y = (words.to(self.device) for words in make_word_tensors(self.task))

    def make_calls(self, first: int, last: int) -> Iterator[Any]:
        """Yield what the engine's calls on pieces first .. last-1 return: losses, or requests of a stack's member."""
        for piece in range(first, last):
            yield self.step(piece)

    def parameters(self) -> dict[str, np.ndarray]:
        return convert_to_numpy(self.engine.export())


def get_bench_name(bench: ModuleType) -> str:
    """Return the name of a benchmark, which is that of its module."""
    return bench.__name__.rpartition(".")[2]


def find_family(one: Any) -> ModuleType:
    """Return the benchmark whose workload or task it is."""
    return import_module(type(one).__module__)


def make_readable_model(task: Any) -> Any:
    """Make the readable model with the task's weights."""
    model = find_family(task).build_model(task)
    model.load_state_dict(make_weight_tensors(task))
    return model


def write_task(task: Any, folder: Path, **facts: Any) -> tuple[Any, dict[str, Any]]:
    """Write a task into a folder, with the weights that the readable model starts with.

    Returns the task and facts about it: those given, how many parameters it has, and operations a token.
    """
    import torch

    generator = torch.Generator().manual_seed(SEED)
    weights = convert_to_numpy(find_family(task).build_model(task, generator).state_dict())
    (folder / "task").write_bytes(pickle.dumps(replace(task, weights=dict.fromkeys(weights))))
    for name, value in weights.items():
        np.save(folder / f"{name}.npy", value)
    task = replace(task, weights=weights)
    parameters = sum(value.size for value in weights.values())
    return task, facts | {"parameters": parameters, "flops_a_token": task.flops_a_token}


def read_task(folder: Path) -> Any:
    """Read the task that `write_task` wrote; weights stay in their files until they are read (up to hundreds of MB)."""
    task = pickle.loads((folder / "task").read_bytes())
    return replace(task, weights={name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in task.weights})


def check_implementation(task: Any, implementation: Implementation) -> dict[str, Any]:
    """Compute loss and norms of the updates over the first `block` pieces of a task, in which implementations agree.

    Engines of document 004 compute their log-perplexity of the first piece besides, before any training.
    """
    log_perplexity = getattr(implementation, "log_perplexity", None)
    facts = {"log_perplexity": log_perplexity()} if log_perplexity else {}
    facts["loss"] = implementation.train(0, task.block)
    parameters = implementation.parameters()
    # In double precision: over millions of numbers a sum of squares in float32 is off by a thousandth with AVX2.
    norms = {name: float(np.linalg.norm(np.float64(parameters[name]) - value)) for name, value in task.weights.items()}
    return facts | {"update_norms": norms}


def compute_expected(task: Any) -> dict[str, Any]:
    """Compute what the readable model does in double precision: every implementation has to do the same."""
    return check_implementation(task, find_family(task).Engine(task, "reference", double=True))


def make_weight_tensors(task: Any) -> dict[str, Any]:
    """Return the task's weights as tensors of their own, by the names of the readable model's state_dict."""
    import torch

    return {name: torch.tensor(value) for name, value in task.weights.items()}


def make_word_tensors(task: Windows) -> tuple[Any, Any]:
    """Return the words that are read and those that are predicted, int64 tensors."""
    import torch

    return torch.as_tensor(task.x).long(), torch.as_tensor(task.y).long()


def convert_to_numpy(state: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Convert a state_dict to arrays, as a task has weights."""
    return {name: value.detach().cpu().numpy() for name, value in state.items()}


def find_corpus(pattern: str, fits: Callable[[Corpus], bool], corpora: Path = CORPORA) -> tuple[Corpus, str] | None:
    """Return the first prepared corpus that fits, and its path; None without one."""
    for path in sorted(corpora.glob(pattern)):
        with suppress(UserError):
            corpus = Corpus.load(path)
            if fits(corpus):
                return corpus, path.as_posix()
    return None


def make_words(dataset: str, vocabulary: int, words: int, corpora: Path = CORPORA) -> tuple[Split, int | None, str]:
    """Find a corpus with this vocabulary or up to a tenth less: its training text, its </s> if any, and its source.

    Without such a corpus, draw `words` words or more in random sentences: lengths follow a gamma law, word 0 ends each.
    """
    match = find_corpus(f"{dataset}-*.npz", lambda c: 0.9 * vocabulary <= len(c.vocabulary) <= vocabulary, corpora)
    if match is not None:
        corpus, path = match
        end = corpus.vocabulary.index(SENTENCE_END) if SENTENCE_END in corpus.vocabulary else None
        return corpus.splits["train"], end, f"training text of {path}"
    random = np.random.default_rng(0)
    shape = (SENTENCE_MEAN / SENTENCE_DEVIATION) ** 2
    lengths = random.gamma(shape, SENTENCE_MEAN / shape, 1 + 2 * words // int(SENTENCE_MEAN))
    offsets = compute_offsets(lengths.round().clip(1))
    tokens = draw_zipf(vocabulary, int(offsets[-1]), random)
    tokens[offsets[1:] - 1] = 0
    return Split(tokens, offsets), 0, RANDOM_WORDS


def draw_zipf(vocabulary: int, count: int, random: np.random.Generator) -> np.ndarray:
    """Draw words, int32, by a Zipf-Mandelbrot law: the probability of rank r is as 1 / (r + 2.7)**1.05."""
    weights = (np.arange(1, vocabulary + 1) + 2.7) ** -1.05
    return random.choice(vocabulary, count, p=weights / weights.sum()).astype(np.int32)
