"""The log-linear model against its equations written out, its features, its background and its first weights."""

import math

import numpy as np
import pytest
import torch
from loglinear_helpers import KINDS, lexicon, model, windows

from reprise.data.corpus import Corpus, Split
from reprise.errors import UserError
from reprise.models.lexicon import BooleanCSR, Lexicon
from reprise.models.loglinear import LogisticGates, LogLinearRNN, initialise


def hard(v):
    return min(max(0.2 * v + 0.5, 0.0), 1.0)


def written_out(made, window):
    """p of every type after a window, in scalars, from the equations."""
    p = {name: value.double().numpy() for name, value in made.state_dict().items()}
    psi, phi = made.psi_rows.dense().astype(float), made.phi_rows.dense().astype(float)
    inputs = [psi[word] @ p["E"] for word in window]
    for layer in range(1, made.layers + 1):
        H = made.H
        h, c, outputs = np.zeros(H), np.zeros(H), []
        for e in inputs:
            v = e @ p[f"W_{layer}"] + h @ p[f"U_{layer}"] + p[f"b_{layer}"]
            i, f, o = (np.array([hard(s) for s in v[k * H : (k + 1) * H]]) for k in (0, 1, 3))
            c = f * c + i * np.tanh(v[2 * H : 3 * H])
            h = o * np.tanh(c)
            outputs.append(h)
        inputs = outputs
    a = p["W_a"] @ inputs[-1] + p["b_a"]
    weights = [math.exp(made.log_b[x]) * math.exp(a @ phi[x]) for x in range(made.V)]
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_is_its_equations(kind):
    made = model(kind, layers=1 + (kind == "ll-rnn")).double()
    x, _ = windows(made, 4, 3)
    p = made(x).exp().detach().numpy()
    assert p.sum(1) == pytest.approx(1, abs=1e-12)
    for b in range(3):
        assert p[b] == pytest.approx(written_out(made, x[:, b].tolist()), rel=1e-9)


def test_with_logistic_gates_it_is_the_lstm_of_torch():
    made = LogisticGates(small_lexicon(), "one-hot", "softmax", "none", "corpus", 0, False, 4, 3, 1).double()
    initialise(made, torch.Generator().manual_seed(1))
    lstm = torch.nn.LSTM(4, 3, dtype=torch.float64)
    W, U, b = made.get_layer(1)
    lstm.load_state_dict({"weight_ih_l0": W.T, "weight_hh_l0": U.T, "bias_ih_l0": b, "bias_hh_l0": torch.zeros_like(b)})
    x = torch.tensor([[0, 1], [2, 3], [4, 0]])
    h, _ = lstm(made.embed(x))
    torch.testing.assert_close(made.compute_adaptors(made.compute_states(x)[0]), h @ made.W_a.T + made.b_a)


def test_a_state_goes_on_where_it_was_left():
    made = model().double()
    x, _ = windows(made, 7, 3)
    states, last = made.compute_states(x)
    first, state = made.compute_states(x[:4])
    second, final = made.compute_states(x[4:], state)
    torch.testing.assert_close(torch.cat([first, second]), states)
    torch.testing.assert_close(final, last)


def small_lexicon():
    counts = np.array([5, 4, 3, 2, 1])
    has_tag = np.array([[1, 0], [1, 1], [0, 0], [0, 1], [1, 1]], bool)
    in_training = np.array([1, 0, 1, 1, 0], bool)
    counted = {"corpus": counts, "train": np.array([2, 0, 3, 1, 0])}
    tags_of = {"corpus": BooleanCSR.from_dense(has_tag), "train": BooleanCSR.from_dense(has_tag & in_training[:, None])}
    return Lexicon(["a", "b", "c", "d", "e"], ["N", "V"], counted, tags_of)


def test_features_are_identities_then_tags():
    features = small_lexicon().make_features("corpus", 2, word_identity=True)
    assert features.names == ["TOPFORM:a", "TOPFORM:b", "TOPFORM:@notTop", "N", "V"]
    assert [features.list_names(i) for i in range(5)] == [
        ["TOPFORM:a", "N"],
        ["TOPFORM:b", "N", "V"],
        ["TOPFORM:@notTop"],
        ["TOPFORM:@notTop", "V"],
        ["TOPFORM:@notTop", "N", "V"],
    ]
    assert features.matrix.dense().sum() == 5 + 6
    every = small_lexicon().make_features("corpus", 5, word_identity=True)
    assert all(every.list_names(i)[0] == f"TOPFORM:{'abcde'[i]}" for i in range(5))
    bare = small_lexicon().make_features("corpus", 2, word_identity=False)
    assert (bare.names, [bare.list_names(i) for i in (0, 2, 4)]) == (["N", "V"], [["N"], [], ["N", "V"]])
    with pytest.raises(UserError, match="top_types: 6"):
        small_lexicon().make_features("corpus", 6, word_identity=True)


def test_features_from_training_know_nothing_of_other_types():
    features = small_lexicon().make_features("train", 2, word_identity=True)
    # c and a are the most frequent there; b and e do not occur
    assert features.names[:3] == ["TOPFORM:c", "TOPFORM:a", "TOPFORM:@notTop"]
    assert features.list_names(0) == ["TOPFORM:a", "N"]
    assert features.list_names(1) == features.list_names(4) == ["TOPFORM:@notTop"]
    assert features.list_names(3) == ["TOPFORM:@notTop", "V"]


def test_backgrounds_are_unigrams():
    words = small_lexicon()
    assert np.exp(words.compute_log_background("corpus")) == pytest.approx(np.array([5, 4, 3, 2, 1]) / 15)
    assert np.exp(words.compute_log_background("train")) == pytest.approx(np.array([3, 1, 4, 2, 1]) / 11)
    assert words.compute_log_background("none").tolist() == [0] * 5


def test_a_lexicon_is_read_from_a_corpus():
    tokens = Split(np.array([0, 1, 0], np.int32), np.array([0, 3]))
    tags = {"tag_indptr": np.array([0, 1, 3]), "tag_indices": np.array([1, 0, 1], np.int32)}
    trained = {"train_tag_indptr": np.array([0, 1, 1]), "train_tag_indices": np.array([1], np.int32)}
    extra = {"corpus_counts": np.array([4, 2]), **tags, **trained}
    corpus = Corpus("c", {"train": tokens}, ["x", "y"], np.array([2, 1]), {"tags": ["N", "V"]}, extra=extra)
    words = Lexicon.from_corpus(corpus)
    assert words.make_features("corpus", 1, True).list_names(1) == ["TOPFORM:@notTop", "N", "V"]
    assert words.make_features("train", 1, True).list_names(1) == ["TOPFORM:@notTop"]
    assert words.counts["corpus"].tolist() == [4, 2]
    with pytest.raises(UserError, match="tags"):
        Lexicon.from_corpus(Corpus("c", {"train": tokens}, ["x", "y"], np.array([2, 1])))


def test_first_weights_are_those_of_keras_1():
    made = LogLinearRNN(lexicon(), "features", "log-linear", "corpus", "corpus", 20, True, 40, 50, 2)
    initialise(made, torch.Generator().manual_seed(3))
    E, W, U, b = made.E, made.W_2, made.U_2, made.b_2
    assert 0.045 < E.abs().max() <= 0.05
    for gate, of_b in zip(U.chunk(4, dim=1), b.chunk(4), strict=True):
        torch.testing.assert_close(gate.T @ gate, 1.21 * torch.eye(50), rtol=0, atol=1e-5)
        assert of_b.unique().numel() == 1
    assert b.view(4, 50)[:, 0].tolist() == [0, 1, 0, 0]
    assert 0.95 < W.abs().max() / math.sqrt(6 / 100) <= 1  # a gate has as many inputs as outputs
    limit = math.sqrt(6 / (made.phi_rows.columns + 50))
    assert 0.95 < made.W_a.abs().max() / limit <= 1
    assert made.b_a.abs().max() == 0
