"""Small trainings of every protocol: an experiment of the tier `quick`, made smaller, on a generated corpus."""

import copy
from pathlib import Path
from typing import Any

import pytest

from reprise.catalogue.options import MODEL_OPTIONS
from reprise.catalogue.options.base import list_options
from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.data import prepare_corpus
from reprise.data.corpus import Corpus, Split
from reprise.engines.stack import Stack
from reprise.records.resolved import Resolved
from reprise.training.jobs import run_jobs
from reprise.training.protocol import Training, build_training
from reprise.training.trainer import Job

ROOT = Path(__file__).parents[3]
PAPERS = ["gso", "rrntn", "palindromes", "books", "lecture", "llrnn"]
"""Of whose experiments the trainings of the tests are."""
DATA = {
    "synthetic": {"vocabulary_size": 60, "training_sentences": 60},
    "synthetic-lines": {"lines": 60},
    "synthetic-prose": {"vocabulary_size": 60, "training_sentences": 60, "licence_sentences": 10},
    "synthetic-tagged": {"vocabulary_size": 100, "training_sentences": 60},
    "synthetic-pairs": {"vocabulary_size": 16, "training_sentences": 60},
    "synthetic-tags": {"vocabulary_size": 60, "training_sentences": 60},
    "names": {"names": 4, "filler": 4},
    "palindromes": {"length": 5},
}
SMALL = {"hidden_size": 8, "embedding_size": 6, "second_order_size": 5, "layers": 2, "matrices": 3}
FEW = {"max_epochs": 2, "steps": 24, "log_every": 4, "sample_every": 8, "table_every": 8, "patience": 1, "samples": 1}
FEW |= {
    "clip_norm": 0.5,
    "sample_length": 20,
    "final_length": 20,
    "sample_words": 5,
    "completions": 1,
    "output_limit": 10,
    "halvings": 1,
}


class Small:
    """Makes small trainings by the name of their protocol; `changes` are options of the model, data or training."""

    def __init__(self, folder: Path) -> None:
        # Not those of a paper that somebody has added, whatever its place in the list.
        self.folder, self.project = folder, load_project(ROOT, {"tier": "quick", "papers": PAPERS})
        self.quick = [one for one in resolve_tier(self.project) if not one.is_check]

    def resolved(self, protocol: str, precision: str = "float32", model: str = "", **changes: Any) -> Resolved:
        of_protocol = [one for one in self.quick if one.config["training"]["protocol"] == protocol]
        base = next((one for one in of_protocol if one.config["model"]["name"] == model), of_protocol[0])
        config = copy.deepcopy(base.config) | {"precision": precision}
        config["model"]["name"] = model or config["model"]["name"]  # one of the same options
        sections = [config[section]["options"] for section in ("model", "training", "data")]
        dataset = config["data"]["dataset"]
        for options in sections:
            options |= {key: value for key, value in {**SMALL, **FEW}.items() if key in options}
        sections[2] |= DATA.get(dataset, {})
        for key, value in changes.items():
            next((options for options in sections if key in options), sections[0])[key] = value
        if (name := config["model"]["name"]) in MODEL_OPTIONS:
            known = list_options(MODEL_OPTIONS[name])
            config["model"]["options"] = {key: value for key, value in sections[0].items() if key in known}
        corpus = self.corpus(dataset, sections[2]) if base.corpus else None
        return Resolved("p", "e", "quick", "t", 2, config, {}, corpus and str(corpus))

    def corpus(self, dataset: str, options: dict[str, Any]) -> Path:
        path = self.folder / f"{dataset}-{abs(hash(str(sorted(options.items()))))}.npz"
        if not path.exists():
            corpus = prepare_corpus(self.project.find_dataset(dataset), options, self.folder, path)
            if dataset == "synthetic":  # twenty sentences are enough to validate and to test with
                for name in ("valid", "test"):
                    split = corpus.splits[name]
                    corpus.splits[name] = Split(split.tokens[: split.offsets[20]], split.offsets[:21])
                corpus.save(path)
        return path

    def __call__(
        self, protocol: str, seed: int = 0, engine: str | Stack = "auto", corpus: Path | None = None, **changes: Any
    ) -> Training:
        resolved = self.resolved(protocol, **changes)
        path = corpus or (resolved.corpus and Path(resolved.corpus))
        return build_training(resolved, seed, path, engine)

    def loaded(self, protocol: str, **changes: Any) -> Corpus:
        """The corpus that a training reads."""
        return Corpus.load(self.resolved(protocol, **changes).corpus)

    def record(self, folder: Path, protocol: str, seed: int = 0, **changes: Any) -> dict[str, Any]:
        """What a whole job leaves."""
        resolved = self.resolved(protocol, **changes)
        corpus = Path(resolved.corpus) if resolved.corpus else None
        return run_jobs([Job(resolved, seed, folder / f"{seed}.json", corpus, root=folder, device="cpu")])[0]


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return Small(tmp_path_factory.mktemp("corpora"))
