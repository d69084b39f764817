"""Networks that read sentences from both ends, and one vector for a sentence: their equations, and padding."""

import pytest
import torch
from torch import nn

from reprise.models.bidirectional import DeepBidirectional, Tagger, initialise
from reprise.models.pooling import SentenceClassifier

NETWORK = {"embedding_size": 4, "hidden_size": 5, "layers": 1, "directions": "both", "lower_layer": "both"}
NETWORK |= {"activation": "tanh"}


def network(**options):
    model = DeepBidirectional(11, **(NETWORK | options))
    initialise(model, torch.Generator().manual_seed(3))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(".b"):
                parameter.normal_(generator=torch.Generator().manual_seed(4))
    return model.double()


def sentence(T, B=1, seed=5):
    return torch.randint(11, (T, B), generator=torch.Generator().manual_seed(seed)), torch.ones(T, B, dtype=torch.bool)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("directions", ["forward", "both"])
def test_it_is_the_networks_of_torch(activation, layers, directions):
    model = network(activation=activation, layers=layers, directions=directions)
    is_bidirectional = directions == "both"
    rnn = nn.RNN(4, 5, layers, nonlinearity=activation, bidirectional=is_bidirectional, dtype=torch.float64)
    with torch.no_grad():
        for i in range(layers):
            for readings, end in [(model.right, ""), (model.left, "_reverse")][: 1 + is_bidirectional]:
                getattr(rnn, f"weight_ih_l{i}{end}").copy_(readings[i].W)
                getattr(rnn, f"weight_hh_l{i}{end}").copy_(readings[i].V)
                getattr(rnn, f"bias_ih_l{i}{end}").copy_(readings[i].b)
                getattr(rnn, f"bias_hh_l{i}{end}").zero_()
    words, present = sentence(7, 3)
    expected, _ = rnn(model.x[words])
    torch.testing.assert_close(model.compute_states(words, present), expected, rtol=1e-12, atol=1e-14)
    counted = sum(p.numel() for p in model.parameters()) - model.x.numel() + layers * 5 * (1 + is_bidirectional)
    assert counted == sum(p.numel() for p in rnn.parameters())


@pytest.mark.parametrize("lower_layer", ["both", "own"])
def test_equations_17_to_22_word_by_word(lower_layer):
    tagger = Tagger(11, 3, **(NETWORK | {"layers": 2, "lower_layer": lower_layer, "activation": "sigmoid"}))
    initialise(tagger, torch.Generator().manual_seed(6))
    model = tagger.double().network
    words, present = sentence(6)
    below = [(model.x[w], model.x[w]) for w in words[:, 0]]  # what each direction reads
    for i in range(2):
        right, left, h = model.right[i], model.left[i], torch.zeros(5, dtype=torch.float64)
        to_right, to_left = [], []
        for x, _ in below:
            h = torch.sigmoid(right.W @ x + right.V @ h + right.b)
            to_right.append(h)
        h = torch.zeros(5, dtype=torch.float64)
        for _, x in reversed(below):
            h = torch.sigmoid(left.W @ x + left.V @ h + left.b)
            to_left.insert(0, h)
        joined = [torch.cat(pair) for pair in zip(to_right, to_left, strict=True)]
        below = [(h, h) for h in joined] if lower_layer == "both" else list(zip(to_right, to_left, strict=True))
    expected = torch.stack([tagger.U @ h + tagger.c for h in joined])
    torch.testing.assert_close(tagger(words, present)[:, 0], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("layers", [1, 3])
def test_padding_changes_nothing(layers):
    model = network(layers=layers)
    lengths, T = (3, 7, 1, 5), 9
    alone = [sentence(length, seed=length) for length in lengths]
    words, present = torch.zeros(T, 4, dtype=torch.long), torch.zeros(T, 4, dtype=torch.bool)
    for b, (text, _) in enumerate(alone):
        words[: len(text), b], present[: len(text), b] = text[:, 0], True
    states = model.compute_states(words, present)
    for b, length in enumerate(lengths):
        torch.testing.assert_close(states[:length, b], model.compute_states(*alone[b])[:, 0], rtol=1e-12, atol=1e-14)
    (gradient,) = torch.autograd.grad(states[present].sum(), model.x)
    separate = torch.autograd.grad(sum(model.compute_states(*each).sum() for each in alone), model.x)[0]
    torch.testing.assert_close(gradient, separate, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("directions", ["forward", "both"])
@pytest.mark.parametrize("pooling", ["max", "mean", "last"])
def test_a_sentence_is_one_vector_of_its_states_alone(pooling, directions):
    model = SentenceClassifier(11, 2, pooling, **(NETWORK | {"directions": directions}))
    initialise(model, torch.Generator().manual_seed(7))
    model.double()
    lengths = (2, 6, 1)
    words = torch.stack([sentence(6, seed=length)[0][:, 0] for length in lengths], 1)
    present = torch.arange(6)[:, None] < torch.tensor(lengths)
    logits = model(words, present)
    for b, length in enumerate(lengths):
        h = model.network.compute_states(words[:length, b : b + 1], present[:length, b : b + 1])[:, 0]
        if pooling == "last":
            r = torch.cat([h[-1, :5], h[0, 5:]])
        else:
            r = h.max(0).values if pooling == "max" else h.mean(0)
        torch.testing.assert_close(logits[b], model.U @ r + model.c, rtol=1e-12, atol=1e-14)
