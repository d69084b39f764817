"""A peer: the LSTM of PyTorch's word-language-model example, trained by a loop of its own and by `language-model`."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from reprise.catalogue.options.language_model import LanguageModel
from reprise.config.mistakes import complete_options
from reprise.data.corpus import Corpus, Split
from reprise.data.text.ptb import prepare
from reprise.records.resolved import Resolved
from reprise.training.protocol import build_training

EMBEDDINGS = UNITS = 200
LAYERS, BPTT, RATE, CLIP, DROPOUT, STREAMS = 2, 35, 20.0, 0.25, 0.2, 20
EPOCHS = 4
MODULE = """
from torch import nn

class LSTM(nn.Module):
    def __init__(self, vocabulary: int, embedding_size: int, hidden_size: int, layers: int, dropout: float):
        super().__init__()
        self.drop, self.encoder = nn.Dropout(dropout), nn.Embedding(vocabulary, embedding_size)
        self.rnn = nn.LSTM(embedding_size, hidden_size, layers, dropout=dropout)
        self.decoder = nn.Linear(hidden_size, vocabulary)

    def initial_state(self, batch):
        zeros = self.decoder.weight.new_zeros(self.rnn.num_layers, batch, self.rnn.hidden_size)
        return zeros, zeros

    def forward(self, x, state):
        h, state = self.rnn(self.drop(self.encoder(x)), state)
        return self.decoder(self.drop(h)), state
"""


def train_alone(model, corpus):
    """Train by plain SGD, the rate divided by 4 when validation does not improve; perplexities of every epoch."""
    end, rate, perplexities = corpus.vocabulary.index("</s>"), RATE, []
    train, valid = (torch.tensor([end, *corpus.splits[name].tokens.tolist()]) for name in ("train", "valid"))
    steps = (len(train) - 1) // STREAMS
    x, y = (part[: steps * STREAMS].view(STREAMS, steps).t() for part in (train[:-1], train[1:]))
    for _ in range(EPOCHS):
        model.train()
        state = model.initial_state(STREAMS)
        for i in range(0, steps, BPTT):
            model.zero_grad()
            logits, (h, c) = model(x[i : i + BPTT], state)
            functional.cross_entropy(logits.flatten(0, 1), y[i : i + BPTT].flatten()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            for parameter in model.parameters():
                parameter.data.add_(parameter.grad, alpha=-rate)
            state = h.detach(), c.detach()
        model.eval()
        with torch.no_grad():
            logits, _ = model(valid[:-1, None], model.initial_state(1))
            perplexity = functional.cross_entropy(logits[:, 0], valid[1:]).exp().item()
        if perplexities and perplexity >= min(perplexities):
            rate /= 4
        perplexities.append(perplexity)
    return perplexities


@pytest.fixture(params=["generated", "ptb"])
def corpus(request, small, tmp_path):
    """A generated text, or the beginning of the Penn Treebank's with its whole vocabulary."""
    if request.param == "generated":
        return small.loaded("batched-sgd", training_sentences=600)
    corpus = prepare(request.getfixturevalue("mirror") / "ptb", {})
    for name, sentences in (("train", 200), ("valid", 50), ("test", 2)):
        split = corpus.splits[name]
        corpus.splits[name] = Split(split.tokens[: split.offsets[sentences]], split.offsets[: sentences + 1])
    return corpus


@pytest.mark.slow
def test_every_epoch_has_the_validation_perplexity_of_a_plain_loop(corpus, tmp_path, monkeypatch):
    """From the same first weights, by the same random numbers of the dropout."""
    name = f"peer_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    corpus.save(tmp_path / "corpus.npz")
    options = {
        "batch_size": STREAMS,
        "bptt": BPTT,
        "optimiser": "sgd",
        "learning_rate": RATE,
        "schedule": "on-stall",
        "decay_factor": 4.0,
        "clipping": "norm",
        "clip": CLIP,
        "initialisation": "encoder.weight: uniform 0.1, decoder.weight: uniform 0.1, decoder.bias: zero",
        "max_epochs": EPOCHS,
    }
    sizes = {"embedding_size": EMBEDDINGS, "hidden_size": UNITS, "layers": LAYERS, "dropout": DROPOUT}
    config = {
        "model": {"name": f"{name}:LSTM", "options": sizes},
        "data": {"dataset": "synthetic", "options": {}, "raw": {}},
        "training": {
            "protocol": "language-model",
            "options": complete_options(LanguageModel, "language-model", options, str)[0],
        },
        "precision": "float64",
    }
    resolved = Resolved("p", "e", "quick", "t", 1, config, {}, "corpus.npz")
    training = build_training(resolved, 1111, tmp_path / "corpus.npz", "auto")
    model, (random,) = copy.deepcopy(training.model), training.random
    while not training.finished:
        training.advance()
    ours = [np.exp(epoch["valid"]) for epoch in training.history]
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(random)
        peers = train_alone(model, Corpus.load(tmp_path / "corpus.npz"))
    assert ours == pytest.approx(peers, rel=1e-9)
    assert min(ours) < 0.9 * len(corpus.vocabulary)
