"""Training on windows of eight words: document 004."""

from functools import partial

import numpy as np
import pytest
import torch
from protocol_helpers import finish, values

from reprise.data.corpus import Corpus
from reprise.evaluation.agreement import MinimalPairs, list_distances, name_group
from reprise.evaluation.sampling import sample_from_windows
from reprise.training.protocols.loglinear_text import READ_BATCH_SIZE, SlidingWindows, Streams, WindowsInOrder

OPTIONS = {"batch_size": 32, "hidden_size": 16, "embedding_size": 16, "learning_rate": 0.003, "patience": 3}
OPTIONS |= {"input": "features", "output": "log-linear", "word_identity": True, "sample_words": 12, "top_types": 15}


@pytest.fixture
def made(small):
    return partial(small, "windows", **OPTIONS)


@pytest.fixture
def loaded(small):
    return small.loaded("windows", **OPTIONS)


def get_readable_model(training):
    """The readable model with a training's weights, in float64."""
    model = training.build_model(lexicon=training.lexicon)
    model.load_state_dict(training.engine.export())
    return model.double()


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("scheme", ["sliding", "streams"])
def test_losses_that_are_told_are_those_of_one_pass_over_the_text(made, loaded, engine, scheme):
    training = made(3, engine, scheme=scheme, max_epochs=1)
    outcome = finish(training)
    model = get_readable_model(training)
    metrics = values(outcome)
    for split, metric in (("valid", "cross_entropy"), ("test2", "cross_entropy"), ("train", "cross_entropy_evaluated")):
        words = torch.from_numpy(loaded.splits[split].tokens).long()
        if scheme == "sliding":
            log_p, targets = model(words.unfold(0, 8, 1)[:-1].T), words[8:]
        else:
            streams = 32 if split == "train" else 1
            steps = (len(words) - 1) // streams
            x = words[: steps * streams].view(streams, steps).T
            targets = words[1 : steps * streams + 1].view(streams, steps).T.flatten()
            log_p = model.compute_log_p(model.compute_adaptors(model.compute_states(x)[0]).flatten(0, 1))
        expected = -log_p.gather(1, targets[:, None]).mean().item()
        assert metrics[split, metric] == pytest.approx(expected, rel=1e-5)
        (n,) = {m["n"] for m in outcome.metrics if m["split"] == split and m["metric"] == metric}
        assert n == len(targets)
    nats = sum(metrics[split, "cross_entropy"] * training.counts[split] for split in ("test1", "test2"))
    n = training.counts["test1"] + training.counts["test2"]
    assert metrics["tests", "cross_entropy"] == pytest.approx(nats / n)


def test_training_stops_three_epochs_after_the_best_and_tells_both(made, monkeypatch):
    valid = [5.0, 4.0, 4.2, 4.0, 4.1, 1.0]
    training = made(max_epochs=60, batch_size=500)
    monkeypatch.setattr(training.engine, "train", lambda x, y, _: (3.0 - 0.1 * training.epoch) * y.numel())

    def evaluate(x, y):
        offset = {"valid": 0.0, "test1": 10.0, "test2": 20.0}.get(training.part, 30.0)
        return (valid[min(training.epoch, 4)] + offset) * y.numel()

    monkeypatch.setattr(training.engine, "evaluate", evaluate)
    metrics = values(finish(training))
    # 4.0 again is no improvement
    assert [h["valid"] for h in training.history] == pytest.approx(valid[:5])
    assert (metrics["train", "epochs"], metrics["valid", "best_epoch"]) == (5, 2)
    assert metrics["test1", "cross_entropy"] == pytest.approx(14.1)
    assert metrics["test1", "cross_entropy_best"] == pytest.approx(14.0)
    assert metrics["train", "cross_entropy"] == pytest.approx(2.6)
    assert metrics["train", "cross_entropy_best"] == pytest.approx(2.9)
    assert metrics["train", "cross_entropy_evaluated"] == pytest.approx(34.1)


TOKENS = {"train": np.arange(20, dtype=np.int32), "valid": np.arange(11, dtype=np.int32)}


def test_sliding_windows_predict_the_token_after_eight():
    text = SlidingWindows(TOKENS, 8, 5, seed=3)
    assert text.counts == {"train": 12, "valid": 3}
    x, y = text.get_batch("valid", 0, None)
    assert x.T.tolist() == [list(range(i, i + 8)) for i in range(3)]
    assert y.tolist() == [8, 9, 10]
    sizes, targets = [], []
    for epoch in (0, 1):
        assert text.count_batches("train", epoch) == 3
        batches = [text.get_batch("train", i, epoch) for i in range(3)]
        sizes.append([x.shape[1] for x, _ in batches])
        targets.append(torch.cat([y for _, y in batches]).tolist())
        assert all((x + 8 - torch.arange(8)[:, None] == y).all() for x, y in batches)
    assert sizes == [[5, 5, 2]] * 2
    assert sorted(targets[0]) == sorted(targets[1]) == list(range(8, 20))
    assert targets[0] != targets[1]
    assert targets[0] != list(range(8, 20))
    assert SlidingWindows(TOKENS, 8, 12, seed=3).get_batch("train", 0, 1)[1].tolist() == targets[1]
    assert SlidingWindows(TOKENS, 8, 12, seed=4).get_batch("train", 0, 1)[1].tolist() != targets[1]
    assert text.get_words_before("valid", torch.tensor([8, 10])).T.tolist() == [list(range(8)), list(range(2, 10))]


def test_windows_in_order_follow_the_text_in_every_epoch():
    text = WindowsInOrder(TOKENS, 8, 5, seed=3)
    for epoch in (0, 1):
        targets = [text.get_batch("train", n, epoch)[1] for n in range(text.count_batches("train", epoch))]
        assert torch.cat(targets).tolist() == TOKENS["train"][8:].tolist()


def test_streams_predict_every_token_once():
    text = Streams(TOKENS, 4, 3, seed=0)
    assert text.counts == {"train": 18, "valid": 10}
    pieces = [text.get_batch("train", i, 0) for i in range(text.count_batches("train", 0))]
    assert [tuple(x.shape) for x, _ in pieces] == [(4, 3), (2, 3)]
    x, y = (torch.cat(parts).T.tolist() for parts in zip(*pieces, strict=True))
    assert x == [list(range(6 * s, 6 * s + 6)) for s in range(3)]
    assert y == [list(range(6 * s + 1, 6 * s + 7)) for s in range(3)]
    assert text.get_batch("valid", 0, None)[1].flatten().tolist() == list(range(1, 11))


@pytest.mark.parametrize("streams", [1, 3, 40, 128, 200])
def test_no_reading_of_streams_is_larger_than_one_of_windows(streams):
    """All logits of a reading are in memory at once: of 128 streams one word each, and not 128."""
    text = Streams({"train": np.arange(1000)}, 8, streams, seed=0)
    sizes = [text.get_batch("train", i, None)[1].numel() for i in range(text.count_batches("train", None))]
    assert sum(sizes) == text.counts["train"]
    assert max(sizes) == max(READ_BATCH_SIZE // streams, 1) * streams <= max(READ_BATCH_SIZE, streams)


def test_pairs_are_judged_by_the_probabilities_of_both_forms(made, loaded):
    training = made(max_epochs=1)
    outcome, model = finish(training), get_readable_model(training)
    arrays = {k.removeprefix("agreement_"): v for k, v in loaded.extra.items() if k.startswith("agreement_")}
    margins = []
    for i in range(len(arrays["right"])):
        if arrays["position"][i] >= 8:
            text = loaded.splits[("test1", "test2")[arrays["split"][i]]].tokens
            place = arrays["position"][i]
            log_p = model(torch.from_numpy(text[place - 8 : place]).long()[:, None])[0]
            margins.append((log_p[arrays["right"][i]] - log_p[arrays["wrong"][i]]).item())
    assert training.margins == pytest.approx(margins, abs=1e-4)
    share = np.mean(np.array(margins) > 0)
    (entry,) = (m for m in outcome.metrics if m["metric"] == f"agreement/{name_group()}")
    assert (entry["value"], entry["n"], entry["split"]) == (pytest.approx(share), len(margins), "tests")
    counts, is_predicted = loaded.extra["corpus_counts"], arrays["position"] >= 8
    right, wrong = (counts[arrays[form]][is_predicted] for form in ("right", "wrong"))
    by_frequency = np.mean((right > wrong) + 0.5 * (right == wrong))
    assert values(outcome)["tests", f"agreement_by_frequency/{name_group()}"] == pytest.approx(by_frequency)


def test_pairs_are_grouped_by_feature_kind_and_distance(loaded):
    n = 6
    arrays = {"split": [0] * n, "position": [7, 8, 9, 10, 11, 12], "right": [1] * n, "wrong": [2] * n}
    arrays |= {"kind": [0, 0, 0, 1, 1, 1], "feature": [0, 0, 1, 1, 0, 1], "distance": [1, 1, 2, 3, 8, 9]}
    extra = {f"agreement_{name}": np.array(numbers) for name, numbers in arrays.items()}
    facts = {"agreement": {"splits": ["test1"], "kinds": ["noun", "verb"], "features": ["Gender", "Number"]}}
    made = Corpus("c", loaded.splits, loaded.vocabulary, loaded.counts, facts, {}, loaded.extra | extra)
    pairs = MinimalPairs.from_corpus(made, 8)
    assert len(pairs) == 5, "the first has no eight words before it"
    metrics = {m["metric"]: (m["value"], m["n"]) for m in pairs.make_metrics(np.array([1.0, -1.0, 0.0, 2.0, 1.0]))}
    assert metrics["agreement/all/all/all"] == (0.7, 5)
    assert metrics["agreement/Gender/all/all"] == (1.0, 2)
    assert metrics["agreement/Number/verb/all"] == (0.75, 2)
    assert metrics["agreement/all/all/3-8"] == (0.75, 2)
    assert metrics["agreement/all/all/over 8"] == (1.0, 1)
    assert metrics["agreement/Number/all/2"] == (0.0, 1)
    assert "agreement/Gender/all/2" not in metrics
    assert list(list_distances(8)) == ["1", "2", "3-8", "over 8"]
    assert MinimalPairs.from_corpus(Corpus("c", loaded.splits, loaded.vocabulary, loaded.counts), 8) is None


def test_samples_are_words_with_their_features(made):
    training = made(max_epochs=1)
    samples = finish(training).samples
    assert len(samples) == 3
    assert {len(s["words"]) for s in samples} == {len(s["features"]) for s in samples} == {12}
    lexicon = training.lexicon
    for word, features in zip(samples[0]["words"], samples[0]["features"], strict=True):
        assert features == ", ".join(training.features.list_names(lexicon.types.index(word)))
    assert samples[0]["words"] != samples[1]["words"]


def test_continuations_follow_the_distribution():
    def chain(window):
        p = torch.full((window.shape[1], 4), 1e-9)
        following = (window[-1] + 1) % 4
        p[torch.arange(len(p)), following] = 0.75
        p[torch.arange(len(p)), (following + 1) % 4] = 0.25
        return p.log()

    texts = sample_from_windows(chain, [0, 0], 2, 2000, key=5)
    steps = np.diff(texts[0], prepend=0) % 4
    assert set(steps) == {1, 2}
    assert np.mean(steps == 1) == pytest.approx(0.75, abs=0.04)
    assert texts == sample_from_windows(chain, [0, 0], 2, 2000, key=5)
    assert texts != sample_from_windows(chain, [0, 0], 2, 2000, key=6)
