"""What a model of a book writes and how it is measured: decoders, counts in texts, and temperature."""

from __future__ import annotations

import math

import pytest
import torch
from windows_helpers import CPU, config, make_corpus

from reprise.checks import run_check
from reprise.evaluation.sampling import continuations, draw, entropy, log_probabilities
from reprise.evaluation.text_measures import Words, distinct, measure, stops_before_capitals, whole_words
from reprise.models.deep_lstm import StackedLSTM, initialise
from reprise.training.protocols.books import CharacterWindows
from reprise.training.protocols.books_texts import PROMPTS


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    return CharacterWindows(config(), 0, make_corpus(tmp_path_factory.mktemp("corpus")), "auto", CPU)


def small_model():
    model = StackedLSTM(5, 6, 2, "tanh", 1.0, "fan-in-truncated-normal").double()
    initialise(model, torch.Generator().manual_seed(1))
    return model


def test_drawing_follows_the_probabilities_at_the_temperature():
    logits = torch.tensor([0.0, 1.0, -2.0, 0.5], dtype=torch.float64)
    numbers = (torch.arange(4000) + 0.5) / 4000
    drawn = draw(logits.expand(4000, 4), 0.8, numbers)
    shares = torch.bincount(drawn, minlength=4) / 4000
    torch.testing.assert_close(shares.double(), torch.softmax(logits / 0.8, 0), atol=1 / 2000, rtol=0)
    assert draw(logits[None], 0.8, torch.tensor([0.0])).item() == 0
    assert draw(logits[None], 0.8, torch.tensor([1 - 2**-32])).item() == 3


@pytest.mark.parametrize("decoder", ["sample", "argmax"])
def test_continuations_read_what_they_have_written(decoder):
    model, prompts = small_model(), torch.tensor([[0, 1], [2, 3], [4, 4]])
    written = continuations(model, prompts, 6, decoder, 0.8, key=9)
    assert torch.equal(written, continuations(model, prompts, 6, decoder, 0.8, key=9))
    assert torch.equal(written[:4], continuations(model, prompts, 4, decoder, 0.8, key=9))
    whole = torch.cat([prompts, written])
    log_p = log_probabilities(model, whole)
    if decoder == "argmax":
        assert torch.equal(log_p[2:-1].argmax(-1), written)
    else:
        assert not torch.equal(written, continuations(model, prompts, 6, decoder, 0.8, key=10))
        assert (log_p[2:-1].gather(2, written[..., None]) > -math.inf).all()


def test_words_are_cut_off_at_a_texts_ends():
    assert whole_words("xt The cat's hat, an") == ["the", "cat", "s", "hat"]
    assert whole_words("The cat") == []
    assert whole_words(" The cat. ") == ["the", "cat"]
    assert whole_words("Éranse 3 ñandú; y") == ["ñandú"]


def test_repetition_is_counted_within_texts():
    looping, other = " a b a b a b ", " c d e "
    assert distinct([looping], 1) == (2 / 6, 6)
    assert distinct([looping], 2) == (2 / 5, 5)
    assert distinct([looping, looping, other], 2) == (6 / 12, 12)
    assert distinct(["x"], 2) == (0.0, 0)


def test_full_stops_before_blank_and_capital():
    assert stops_before_capitals(["A. B. c.D. Él. ", "x."]) == (0.5, 4)  # the last two have nothing to be judged by


def test_words_are_of_the_book_of_its_licence_or_of_neither():
    vocabulary = Words("uno dos tres by dos uno", "the works by the owner by")
    measures = {name: (value, n) for name, value, n in measure([" The dos by xyz works tres. "], vocabulary)}
    assert measures["words_in_book"] == (5 / 6, 6)
    assert measures["words_in_licence"] == (3 / 6, 6)  # "by" is in both, likelier in the licence
    assert measures["spaces"][0] == 7 / 28
    assert "stops_before_capitals" not in measures
    assert "words_in_licence" not in dict((n, v) for n, v, _ in measure([" uno dos "], Words("uno dos")))


def test_prompts_leave_out_symbols_that_the_book_does_not_have(training):
    texts = training.texts
    read = texts.spell(texts.read(PROMPTS["operator"])[:, 0].tolist())
    assert read == "".join(s for s in PROMPTS["operator"] if s in texts.ids)
    assert 10 < len(read) < len(PROMPTS["operator"])


def test_everything_is_drawn_at_the_temperature_that_is_configured(training, monkeypatch):
    asked = []

    def watched(model, prompts, length, decoder, *temperature_and_key):
        asked.append((decoder, length, *temperature_and_key[:1]))
        return continuations(model, prompts, length, decoder, *temperature_and_key)

    monkeypatch.setattr("reprise.training.protocols.books_texts.continuations", watched)
    training.texts.while_training(training.model, 0)
    training.texts.at_the_end(training.model, 0, torch.zeros(5, 2, dtype=torch.int64))
    assert {(length, *t) for decoder, length, *t in asked if decoder == "sample"} == {(30, 0.8), (50, 0.8)}
    assert sum(decoder == "sample" for decoder, *_ in asked) == 2 + len(PROMPTS)


def test_excerpts_are_stretches_of_the_book(training):
    excerpts = training.texts._excerpts(30)
    assert [len(e) for e in excerpts] == [31] * 3
    assert len(set(excerpts)) == 3
    assert all(e in training.texts.text for e in excerpts)


def test_the_probability_of_gretel_is_the_product_of_its_letters(training):
    texts, model = training.texts, training.model
    found = {m.metric: m.value for m in texts._expected(model)}
    state, log_p = model.initial_state(1), 0.0
    for symbol in texts.read(PROMPTS["hansel"])[:, 0].tolist():
        logits, state = model(torch.tensor([[symbol]]), state)
    for place, letter in enumerate("etel"):
        p = torch.softmax(logits[0, 0], 0)
        if place == 0:
            assert found["expected_rank"] == 1 + sum(p > p[texts.ids["e"]])
        log_p += p[texts.ids[letter]].log().item()
        logits, state = model(torch.tensor([[texts.ids[letter]]]), state)
    assert found["expected_log_probability"] == pytest.approx(log_p, rel=1e-5)


def test_after_a_full_stop_a_blank_and_a_capital_are_looked_for(training):
    texts, model = training.texts, training.model
    found = {m.metric: m.value for m in texts._after_a_full_stop(model)}
    p = log_probabilities(model, texts.read(PROMPTS["operator"]))[-1, 0].exp()
    assert found["blank_probability"] == pytest.approx(p[texts.ids[" "]].item())
    p = log_probabilities(model, texts.read(PROMPTS["operator-blank"]))[-1, 0].exp()
    assert found["capital_probability"] == pytest.approx(sum(p[i].item() for s, i in texts.ids.items() if s.isupper()))


def test_dividing_logits_by_less_than_one_lowers_the_entropy():
    (claimed,) = run_check("temperature-raises-entropy")
    assert claimed.error > 0.1
    slope, rise = run_check("temperature-lowers-entropy")
    assert slope.error < 1e-10
    assert rise.error == 0
    assert entropy(torch.zeros(8, dtype=torch.float64)).item() == pytest.approx(math.log(8))
