"""Training on windows of a book's characters, and the texts that its models write."""

import copy
import math
from functools import partial

import numpy as np
import pytest
import torch
from protocol_helpers import finish

from reprise.evaluation.sampling import (
    compute_entropy,
    compute_log_probabilities,
    continue_texts,
    sample_by_inverse_cdf,
)
from reprise.evaluation.text_measures import (
    BookVocabulary,
    list_whole_words,
    measure_distinct,
    measure_stops_before_capitals,
    measure_texts,
)
from reprise.models.deep_lstm import DeepLSTM, initialise
from reprise.training.protocols.books_texts import PROMPTS

OPTIONS = {"batch_size": 4, "length": 10, "steps": 41, "sample_every": 20, "table_every": 20, "log_every": 10}
OPTIONS |= {"samples": 3, "sample_length": 30, "final_length": 50, "completions": 2, "temperature": 0.8}


@pytest.fixture
def made(small):
    return partial(small, "character-windows", **OPTIONS)


@pytest.fixture
def loaded(small):
    return small.loaded("character-windows")


@pytest.mark.parametrize(("start", "mean_square"), [("one", 1.0), ("zero", 0.0)])
def test_a_step_is_tensorflows_rmsprop_on_clipped_gradients(made, start, mean_square):
    """Its loss, which is logged, is that of its own batch before the update."""
    training = made(mean_square_start=start, decay=0.75, clip_norm=1e-3, learning_rate=0.1, epsilon=1e-3, steps=1)
    model = copy.deepcopy(training.model)
    x, y = training.cut_windows(training.draw_places(0)[0])
    logits, _ = model(x, model.initial_state(4))
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    loss.backward()
    assert torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3) > 1e-3
    finish(training)
    assert training.losses == {0: pytest.approx(loss.item(), abs=1e-5)}
    assert loss.item() == pytest.approx(math.log(training.model.vocabulary), abs=0.05)
    for ours, p in zip(training.model.parameters(), model.parameters(), strict=True):
        s = 0.75 * mean_square + 0.25 * p.grad**2
        torch.testing.assert_close(ours, p - 0.1 * p.grad / (s + 1e-3).sqrt())


def test_windows_begin_anywhere_in_the_book_and_each_character_predicts_the_next(made, loaded):
    training = made(batch_size=500)
    tokens = loaded.splits["train"].tokens
    drawn = torch.cat([training.draw_places(step)[0] for step in range(40)])
    assert drawn.min() >= 0
    assert drawn.max() == len(tokens) - 10 - 2 - 1  # np.random.randint(0, len - length - 2) of the author's code
    assert torch.equal(training.draw_places(7)[0], made(batch_size=500).draw_places(7)[0])
    assert not torch.equal(training.draw_places(7)[0], training.draw_places(8)[0])
    # 40 * 500 places over ten tenths of the book: each tenth has 2,000, deviation 42.
    tenths = torch.bincount(drawn * 10 // training.places, minlength=10)
    assert ((tenths - 2000).abs() < 5 * 42).all()
    places, fresh = training.draw_places(3)
    assert fresh.all()
    x, y = training.cut_windows(places)
    for b in (0, 17, 499):
        span = tokens[places[b] : places[b] + 11].tolist()
        assert (x[:, b].tolist(), y[:, b].tolist()) == (span[:-1], span[1:])


def test_carried_streams_go_on_with_their_state_and_begin_anew_at_the_end(made):
    training = made(window_state="carried", length=100, batch_size=8, steps=200)
    training.piece_size, states = 1, []
    loss_of = training.loss

    def watched(x, y, state):
        loss, (nats, after) = loss_of(x, y, state)
        states.append((state, after))
        return loss, (nats, after)

    training.loss = watched
    wrapped = 0
    for step in range(60):
        training.advance()
        (places, fresh), state = training.draw_places(step), states[-1][0]
        if step:
            before = training.draw_places(step - 1)[0]
            assert torch.equal(places, (before + 100) % training.places)
            assert torch.equal(fresh, places < before)
            for now, then in zip((p for s in state for p in s), (p for s in states[-2][1] for p in s), strict=True):
                assert torch.equal(now[~fresh], then[~fresh])
                assert now[fresh].count_nonzero() == 0
            wrapped += int(fresh.sum())
    assert wrapped > 0, "no stream came to the end of the text"


def test_what_a_replica_leaves(small, loaded, tmp_path):
    record = small.record(tmp_path, "character-windows", **OPTIONS)
    by_metric = {(c["split"], c["metric"]): c for c in record["curves"]}
    losses = by_metric["train", "cross_entropy"]
    assert losses["x"] == [0, 10, 20, 30, 40]
    assert by_metric["sample", "spaces"]["x"] == by_metric["argmax", "spaces"]["x"] == [0, 20, 40]
    metrics = {(m["split"], m["metric"]): m for m in record["metrics"]}
    mean = sum(losses["y"]) / 5
    for mark in range(3):  # every logged loss is within 100 steps of each
        assert metrics["train", f"cross_entropy_mark_{mark}"]["value"] == pytest.approx(mean)
    assert metrics["train", "final_cross_entropy"]["n"] == 5 * 4 * 10
    assert metrics["train", "source_entropy"]["value"] == loaded.facts["source_nats"]["train"]
    starts = [s for s in record["samples"] if s["kind"] == "start"]
    assert [(s["step"], s["decoder"], len(s["prompt"]), len(s["text"])) for s in starts] == [
        (step, decoder, 1, 30) for step in (0, 20, 40) for decoder in ("sample", "argmax")
    ]
    hansel = [s for s in record["samples"] if s["kind"] == "hansel"]
    assert [(s["decoder"], s["temperature"]) for s in hansel] == [("sample", 0.8), ("sample", 0.8), ("argmax", None)]


def small_model():
    model = DeepLSTM(5, 6, 2, "tanh", 1.0, "fan-in-truncated-normal").double()
    initialise(model, torch.Generator().manual_seed(1))
    return model


def test_drawing_follows_the_probabilities():
    p = torch.tensor([0.2, 0.5, 0.05, 0.25], dtype=torch.float64)
    numbers = (np.arange(4000) + 0.5) / 4000
    drawn = sample_by_inverse_cdf(p.expand(4000, 4), numbers)
    shares = torch.bincount(drawn, minlength=4) / 4000
    torch.testing.assert_close(shares.double(), p, atol=1 / 2000, rtol=0)
    assert sample_by_inverse_cdf(p.expand(2, 4), np.array([0.0, 1 - 2**-32])).tolist() == [0, 3]
    assert compute_entropy(p.log()).item() == pytest.approx(-(p * p.log()).sum().item())


@pytest.mark.parametrize("decoder", ["sample", "argmax"])
def test_continuations_read_what_they_have_written(decoder):
    model, prompts = small_model(), torch.tensor([[0, 1], [2, 3], [4, 4]])
    written = continue_texts(model, prompts, 6, decoder, 0.8, key=9)
    assert torch.equal(written, continue_texts(model, prompts, 6, decoder, 0.8, key=9))
    assert torch.equal(written[:4], continue_texts(model, prompts, 4, decoder, 0.8, key=9))
    sequences = torch.cat([prompts, written])
    log_p = compute_log_probabilities(model, sequences)
    if decoder == "argmax":
        assert torch.equal(log_p[2:-1].argmax(-1), written)
    else:
        assert not torch.equal(written, continue_texts(model, prompts, 6, decoder, 0.8, key=10))
        assert (log_p[2:-1].gather(2, written[..., None]) > -math.inf).all()


def test_words_are_cut_off_at_a_texts_ends():
    assert list_whole_words("xt The cat's hat, an") == ["the", "cat", "s", "hat"]
    assert list_whole_words("The cat") == []
    assert list_whole_words(" The cat. ") == ["the", "cat"]
    assert list_whole_words("Éranse 3 ñandú; y") == ["ñandú"]


def test_repetition_is_counted_within_texts():
    looping, other = " a b a b a b ", " c d e "
    assert measure_distinct([looping], 1) == (2 / 6, 6)
    assert measure_distinct([looping], 2) == (2 / 5, 5)
    assert measure_distinct([looping, looping, other], 2) == (6 / 12, 12)
    assert measure_distinct(["x"], 2) == (0.0, 0)


def test_full_stops_before_blank_and_capital():
    assert measure_stops_before_capitals(["A. B. c.D. Él. ", "x."]) == (
        0.5,
        4,
    )  # the last two have nothing to be judged by


def test_words_are_of_the_book_of_its_licence_or_of_neither():
    vocabulary = BookVocabulary("uno dos tres by dos uno", "the works by the owner by")
    measures = {name: (value, n) for name, value, n in measure_texts([" The dos by xyz works tres. "], vocabulary)}
    assert measures["words_in_book"] == (5 / 6, 6)
    assert measures["words_in_licence"] == (3 / 6, 6)  # "by" is in both, likelier in the licence
    assert measures["spaces"][0] == 7 / 28
    assert "stops_before_capitals" not in measures
    assert "words_in_licence" not in dict((n, v) for n, v, _ in measure_texts([" uno dos "], BookVocabulary("uno dos")))


def test_everything_is_drawn_at_the_temperature_that_is_configured(made, monkeypatch):
    training, requests = made(), []

    def watched(model, prompts, length, decoder, *temperature_and_key):
        requests.append((decoder, length, *temperature_and_key[:1]))
        return continue_texts(model, prompts, length, decoder, *temperature_and_key)

    monkeypatch.setattr("reprise.training.protocols.books_texts.continue_texts", watched)
    training.texts.measure_during_training(training.model, 0)
    training.texts.measure_final_texts(training.model, 0, torch.zeros(5, 2, dtype=torch.int64))
    assert {(length, *t) for decoder, length, *t in requests if decoder == "sample"} == {(30, 0.8), (50, 0.8)}
    assert sum(decoder == "sample" for decoder, *_ in requests) == 2 + len(PROMPTS)


def test_what_a_model_expects_is_told_at_the_end(made):
    """Gretel by the product of its letters; a blank, and then a capital, after a full stop."""
    training = made()
    texts, model = training.texts, training.model
    metrics, _ = texts.measure_final_texts(model, 0, torch.zeros(5, 2, dtype=torch.int64))
    values_by_metric = {m["metric"]: m["value"] for m in metrics}

    def expected(prompt):  # of the next symbol
        logits, _ = model(texts.encode(prompt), model.initial_state(1))
        return torch.softmax(logits[-1, 0].detach(), 0)

    p = [expected(PROMPTS["hansel"] + "etel"[:n])[texts.ids[letter]] for n, letter in enumerate("etel")]
    assert values_by_metric["expected_log_probability"] == pytest.approx(sum(math.log(each) for each in p), rel=1e-5)
    assert values_by_metric["expected_rank"] == 1 + (expected(PROMPTS["hansel"]) > p[0]).sum()
    assert values_by_metric["blank_probability"] == pytest.approx(expected(PROMPTS["operator"])[texts.ids[" "]].item())
    capitals = [i for symbol, i in texts.ids.items() if symbol.isupper()]
    after = expected(PROMPTS["operator-blank"])[capitals].sum().item()
    assert values_by_metric["capital_probability"] == pytest.approx(after, rel=1e-5)
