"""What the tests of log-linear models share: a small lexicon, models of every kind, a corpus, a configuration."""

import numpy as np
import torch

from reprise.models.lexicon import BooleanCSR, Lexicon
from reprise.models.loglinear import LogLinearRNN, initialise

CPU = torch.device("cpu")

# input, output, background, word_identity
KINDS = {
    "rnn": ("one-hot", "softmax", "none", True),
    "rnn with b": ("one-hot", "softmax", "corpus", True),
    "ll-rnn": ("features", "log-linear", "corpus", True),
    "ll-rnn without b": ("features", "log-linear", "none", True),
    "one-hot input": ("one-hot", "log-linear", "train", True),
    "feature input": ("features", "softmax", "none", True),
    "tags alone": ("features", "log-linear", "corpus", False),
}


def lexicon(types=90, tags=70, seed=0):
    """Types of which many share their tags; the rarer half of them does not occur in training."""
    random = np.random.default_rng(seed)
    bundles = random.random((max(2, types // 5), tags)) < 0.1
    has_tag = bundles[random.integers(len(bundles), size=types)]
    counts = np.sort(random.integers(1, 60, types))[::-1].astype(np.int64)
    in_training = np.arange(types) < types // 2
    return Lexicon(
        [f"w{i}" for i in range(types)],
        [f"tag:{i}" for i in range(tags)],
        {"corpus": counts, "train": np.where(in_training, counts // 2, 0)},
        {"corpus": BooleanCSR.from_dense(has_tag), "train": BooleanCSR.from_dense(has_tag & in_training[:, None])},
    )


def model(kind="ll-rnn", *, types=90, tags=70, top=20, source="corpus", sizes=(12, 19), layers=2, seed=0):
    """A model of this kind with its first weights, enlarged so that its gates and tags matter."""
    made = LogLinearRNN(
        lexicon(types, tags, seed),
        **dict(zip(("input", "output", "background", "word_identity"), KINDS[kind], strict=True)),
        features_from=source,
        top_types=top,
        embedding_size=sizes[0],
        hidden_size=sizes[1],
        layers=layers,
    )
    generator = torch.Generator().manual_seed(seed)
    initialise(made, generator)
    with torch.no_grad():
        made.E.mul_(8)
        made.b_a.uniform_(-0.5, 0.5, generator=generator)
        for name, parameter in made.named_parameters():
            if name.startswith("b_") and name != "b_a":
                parameter.add_(torch.rand(parameter.shape, generator=generator) - 0.5)
    return made


def windows(made, T, B, seed=0, every=False):
    """Words (T, B) and targets (B,), or (T, B) for `every` step."""
    random = torch.Generator().manual_seed(seed)
    x = torch.randint(made.V, (T, B), generator=random)
    return x, torch.randint(made.V, (T, B) if every else (B,), generator=random)
