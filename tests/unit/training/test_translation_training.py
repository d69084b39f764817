"""Training of the translation model: batches, epochs, early stopping, translations, and going on from a state."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from engine_helpers import same_bits
from protocol_helpers import finish, goes_on, options_are_known, states_of, values

from reprise.data.corpus import Corpus
from reprise.data.pairs.pairs import lines_of_test, source_of
from reprise.data.synthetic import synthetic, synthetic_pairs
from reprise.errors import UserError
from reprise.evidence.bleu import bleu
from reprise.records.resolved import Resolved
from reprise.training.loop import Job, run_job
from reprise.training.protocol import Diverged
from reprise.training.protocols.translation import Pairs, Translation

CPU = torch.device("cpu")
MODEL = {
    "unit": "gru",
    "embedding_size": 16,
    "hidden_size": 24,
    "layers": 1,
    "untied": True,
    "context": True,
    "bidirectional": False,
    "reverse_source": False,
    "matrix_law": "gaussian",
}
TRAINING = {"batch_size": 10, "optimiser": "adam", "learning_rate": 0.01, "clip_norm": 5.0, "patience": 3}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    options = {"vocabulary_size": 16, "training_sentences": 300, "most_words": 5, "seed": 1}
    synthetic_pairs.prepare(folder, options).save(folder / "corpus.npz")
    return folder / "corpus.npz"


def config(max_epochs=2, model=(), **training):
    return {
        "model": {"name": "translation", "options": {**MODEL, **dict(model)}},
        "training": {
            "protocol": "translation",
            "options": {**TRAINING, "max_epochs": max_epochs, "output_limit": 12, **training},
        },
        "precision": "float32",
    }


def pairs_of(corpus, split="train"):
    loaded = Corpus.load(corpus)
    return Pairs(source_of(loaded).splits[split], loaded.splits[split], loaded.vocabulary.index("</s>"))


def test_a_batch_holds_its_pairs_and_the_word_before_each(corpus):
    pairs = pairs_of(corpus)
    numbers = np.array([7, 0, 31])
    batch = pairs.batch(numbers)
    targets = torch.full(batch.before.shape, -1)
    targets.view(-1)[batch.places] = batch.targets
    for column, number in enumerate(numbers):
        read, written = (s.tokens[s.offsets[number] : s.offsets[number + 1]] for s in (pairs.source, pairs.target))
        assert batch.lengths[column] == len(read)
        assert batch.source[: len(read), column].tolist() == read.tolist()
        assert targets[: len(written), column].tolist() == written.tolist()
        assert (targets[len(written) :, column] == -1).all()
        assert batch.before[: len(written), column].tolist() == [pairs.end, *written[:-1].tolist()]
    assert len(batch.source) == max(batch.lengths)


def test_an_epoch_reads_every_pair_once_in_batches_of_like_length(corpus):
    pairs = pairs_of(corpus)
    batches = pairs.shuffled(8, torch.Generator().manual_seed(1))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(pairs)))
    assert sorted(map(len, batches))[1:] == [8] * (len(batches) - 1)
    lengths = np.diff(pairs.target.offsets)
    spread = np.mean([lengths[batch].max() - lengths[batch].mean() for batch in batches])
    assert spread < 0.5 * (lengths.max() - lengths.mean())
    other = pairs.shuffled(8, torch.Generator().manual_seed(2))
    assert [b.tolist() for b in other] != [b.tolist() for b in batches]
    assert sorted(np.concatenate(pairs.in_order(7)).tolist()) == list(range(len(pairs)))


def test_the_losses_are_those_of_the_model_pair_by_pair(corpus):
    training = Translation(config(max_epochs=1), 0, corpus, "reference", CPU)
    found = values(finish(training))
    pairs, total = pairs_of(corpus, "test"), 0.0
    for number in range(len(pairs)):
        batch = pairs.batch(np.array([number]))
        with torch.no_grad():
            logits = training.model(batch.source, batch.lengths, batch.before)[:, 0]
        total += torch.nn.functional.cross_entropy(logits.double(), batch.targets, reduction="sum").item()
    assert found["test", "cross_entropy"] == pytest.approx(total / len(pairs.target.tokens), rel=1e-6)


def test_a_step_follows_the_gradient_of_equation_26(corpus):
    """The mean over pairs, not over words, clipped by its norm."""
    options = {"clip_norm": 0.5, "batch_size": 300, "learning_rate": 0.001}
    training = Translation(config(max_epochs=1, **options), 0, corpus, "reference", CPU)
    model = copy.deepcopy(training.model)
    batch = training.pairs["train"].batch(training.batches[0])
    logits = model(batch.source, batch.lengths, batch.before).flatten(0, 1)[batch.places]
    (torch.nn.functional.cross_entropy(logits, batch.targets, reduction="sum") / 300).backward()
    assert torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5) > 0.5
    torch.optim.Adam(model.parameters(), lr=0.001).step()
    training.advance()
    for (name, mine), theirs in zip(training.model.named_parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-7, msg=name)


@pytest.mark.slow
def test_it_learns_the_cipher(corpus):
    outcome = finish(Translation(config(max_epochs=12), 1, corpus, "auto", CPU))
    loaded = Corpus.load(corpus)
    shares = loaded.counts / loaded.counts.sum()
    unigram = -float(np.log(shares[loaded.splits["test"].tokens]).mean())
    assert values(outcome)["test", "cross_entropy"] < 0.5 * unigram
    found = outcome.samples[0]
    always = found | {f"matches_{n}": [0] * len(found["texts"]) for n in (2, 3, 4)}
    assert bleu(found) > 25 > bleu(always)
    assert found["source_words"] == np.diff(source_of(loaded).splits["test"].offsets).tolist()
    shown = [sample for sample in outcome.samples if sample["kind"] == "example"]
    assert len(shown) == 5
    for sample in shown:
        assert (sample["source"], sample["reference"]) == lines_of_test(loaded)[sample["line"] - 1]
        assert sample["text"] == found["texts"][sample["line"] - 1]
    assert not any("</s>" in text or "<unk>" in text for text in found["texts"])


def test_the_test_is_read_with_the_parameters_of_the_best_epoch(corpus):
    outcome = finish(Translation(config(max_epochs=40, learning_rate=0.1, patience=1), 2, corpus, "auto", CPU))
    found, (_, valid) = values(outcome), outcome.curves
    best = int(found["valid", "best_epoch"])
    assert valid["y"][best - 1] == min(valid["y"]) == found["valid", "cross_entropy"]
    assert found["train", "epochs"] == best + 1 < 40
    stopped = finish(Translation(config(max_epochs=best, learning_rate=0.1), 2, corpus, "auto", CPU))
    assert values(stopped)["test", "cross_entropy"] == found["test", "cross_entropy"]
    assert stopped.samples == outcome.samples


@pytest.mark.parametrize("engine", ["hand", "reference"])
def test_training_goes_on_from_its_state_to_the_same_bits(corpus, engine, monkeypatch):
    monkeypatch.setattr(Translation, "batches_at_once", 4)
    made = config(model={"layers": 2, "bidirectional": True, "unit": "lstm", "hidden_size": 8}, batch_size=20)
    whole = Translation(made, 3, corpus, engine, CPU)
    states = states_of(whole, "part")[:-1]
    assert whole.engine == engine
    parts = [part for part, _ in states]
    assert list(dict.fromkeys(parts)) == ["train", "valid", "test", "translate"]
    for i in (1, parts.index("valid"), len(states) // 2, parts.index("test"), len(states) - 1):
        again = Translation(made, 3, corpus, engine, CPU)
        goes_on(again, states[i][1], whole)
        assert same_bits(whole.model.state_dict(), again.model.state_dict())


def test_replicas_differ_and_engines_agree(corpus):
    one, two = (values(finish(Translation(config(), seed, corpus, "auto", CPU))) for seed in (1, 2))
    assert one != two
    other = values(finish(Translation(config(), 1, corpus, "reference", CPU)))
    assert other["test", "cross_entropy"] == pytest.approx(one["test", "cross_entropy"], rel=1e-3)


def test_a_whole_job_leaves_a_record_without_the_references(corpus, tmp_path):
    resolved = Resolved("p", "e", "quick", "t", 1, config(max_epochs=1), {}, str(corpus))
    record = run_job(Job(resolved, 0, tmp_path / "r.json", corpus, device="cpu", root=tmp_path))
    assert (record["status"], record["run"]["engine"]) == ("finished", "hand")
    lines = (tmp_path / "r.json").read_text().splitlines()
    assert any(line.strip().startswith('"matches_4": [') and line.count(",") > 20 for line in lines), "one line a list"
    # 30 pairs are tested; of five the reference is shown.
    assert sum("reference" in sample for sample in record["samples"]) == 5
    assert len(record["samples"]) == 6


def test_divergence_and_wrong_input_are_told(corpus, tmp_path):
    training = Translation(config(), 0, corpus, "auto", CPU)
    with torch.no_grad():
        training.model.b_S.fill_(math.inf)
    with pytest.raises(Diverged, match="train loss"):
        finish(training)
    with pytest.raises(UserError, match="needs a prepared corpus"):
        Translation(config(), 0, None, "auto", CPU)
    with pytest.raises(UserError, match="engine: fused is none of"):
        Translation(config(), 0, corpus, "fused", CPU)
    sizes = {"training_sentences": 20, "vocabulary_size": 16, "seed": 1}
    synthetic.prepare(tmp_path, sizes, held_out=5).save(tmp_path / "c.npz")
    with pytest.raises(UserError, match="no parallel text; the protocol translation needs one"):
        Translation(config(), 0, tmp_path / "c.npz", "auto", CPU)


def test_the_registry_knows_the_options_of_this_configuration():
    options_are_known(config())
