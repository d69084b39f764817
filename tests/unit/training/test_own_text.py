"""A text of the user's own in the place of the test text: equal texts give equal numbers."""

from pathlib import Path

import pytest
import torch

from reprise.data.corpus import SPLITS, Corpus, Split
from reprise.data.own_text import OWN_TEST_SPLITS, replace_test_text
from reprise.errors import UserError
from reprise.training.protocol import build_training

CASES = {
    "subsequence-sgd": "test",
    "batched-sgd": "test",
    "window-sgd": "test",
    "line-epochs": "test",
    "windows": "test1",
}


def lines_of_fold(corpus, fold):
    """The lines of 27 symbols that a fold is tested on."""
    split = corpus.splits["lines"]
    numbers = (corpus.extra["part"][fold] == 2).nonzero()[0]
    return [split.tokens[split.offsets[i] : split.offsets[i + 1]] for i in numbers]


def spelled(corpus, protocol):
    """The test text as a file has it."""
    if protocol == "line-epochs":
        return "\n".join("".join(corpus.vocabulary[i] for i in line) for line in lines_of_fold(corpus, 0))
    split = corpus.splits[CASES[protocol]]
    ends = corpus.boundaries == "</s>"
    lines = [split.tokens[a : b - ends] for a, b in zip(split.offsets, split.offsets[1:], strict=False)]
    return "\n".join(" ".join(corpus.vocabulary[i] for i in line) for line in lines)


def measured(resolved, corpus_file):
    training = build_training(resolved, 0, corpus_file, "reference")
    metrics = training.measure(lambda _: None).metrics
    return {(m["split"], m["metric"]): (m["value"], m["n"]) for m in metrics if m["split"] in OWN_TEST_SPLITS}


def with_own(resolved, text, folder):
    (folder / "own.txt").write_text(text, "utf-8")
    corpus, line = replace_test_text(Corpus.load(resolved.corpus), folder / "own.txt")
    corpus.save(folder / "own.npz")
    assert "own.txt" in line
    return folder / "own.npz"


@pytest.mark.parametrize("protocol", CASES)
def test_the_test_text_itself_gives_the_same_numbers_and_another_gives_others(small, protocol, tmp_path):
    resolved = small.resolved(protocol)
    text = spelled(Corpus.load(resolved.corpus), protocol)
    before = measured(resolved, Path(resolved.corpus))
    assert measured(resolved, with_own(resolved, text, tmp_path)).items() <= before.items()
    cut = text.split("\n" if "\n" in text else " ")
    shorter = measured(resolved, with_own(resolved, "\n".join(cut[: len(cut) // 2]), tmp_path))
    split = CASES[protocol]
    assert shorter[split, "cross_entropy"][1] < before[split, "cross_entropy"][1]


def test_a_text_is_brought_into_the_form_of_the_corpus(small, tmp_path):
    """A byte-order mark, soft hyphens and other line ends are no part of a word, as in every corpus."""
    corpus = Corpus.load(small.resolved("batched-sgd").corpus)
    text = spelled(corpus, "batched-sgd")
    word = text.split()[0]
    marked = "\ufeff" + text.replace(word, f"{word[0]}\u00ad{word[1:]}").replace("\n", "\r\n")
    (tmp_path / "own.txt").write_bytes(marked.encode())
    own, line = replace_test_text(corpus, tmp_path / "own.txt")
    assert "; 0 are read as" in line
    assert own.splits["test"].tokens.tolist() == corpus.splits["test"].tokens.tolist()


def test_a_book_model_is_measured_on_the_characters_of_a_text(small, tmp_path, monkeypatch):
    monkeypatch.setattr("reprise.training.protocols.books._READ_LENGTH", 3)
    resolved = small.resolved("character-windows")
    corpus = Corpus.load(resolved.corpus)
    tokens = corpus.splits["train"].tokens[:11].tolist()
    text = "".join(corpus.vocabulary[i] for i in tokens).strip()
    symbols = torch.tensor([corpus.vocabulary.index(s) for s in text])
    training = build_training(resolved, 0, Path(resolved.corpus), "reference")
    nats = [-training.compute_next_log_p(symbols[:n])[symbols[n]].item() for n in range(1, len(symbols))]
    metrics = measured(resolved, with_own(resolved, text, tmp_path))
    assert metrics["test", "cross_entropy"] == (pytest.approx(sum(nats) / len(nats), rel=1e-6), len(nats))


def test_a_corpus_of_characters_of_ones_own_reads_a_text_by_characters(tmp_path):
    splits = {name: Split.from_tokens([0, 1, 2, 1]) for name in SPLITS}
    corpus = Corpus.from_counts("own", splits, dict.fromkeys("ab ", 4), "none", {})
    (tmp_path / "own.txt").write_text("b a", "utf-8")
    assert replace_test_text(corpus, tmp_path / "own.txt")[0].splits["test"].tokens.tolist() == [1, 2, 0]
    (tmp_path / "own.txt").write_text("b c", "utf-8")
    with pytest.raises(UserError, match="'c'"):
        replace_test_text(corpus, tmp_path / "own.txt")


@pytest.mark.parametrize(
    ("protocol", "text"),
    [
        ("tagging", "a b"),  # whose test words bear tags
        ("translation", "a b"),
        ("windows", "no-such-type of this treebank"),
        ("character-windows", "\u2603 snow"),
        ("line-epochs", "1 2 3"),
    ],
)
def test_a_text_that_cannot_be_measured_is_one_line(small, protocol, text, tmp_path):
    (tmp_path / "own.txt").write_text(text, "utf-8")
    with pytest.raises(UserError) as caught:
        replace_test_text(small.loaded(protocol), tmp_path / "own.txt")
    assert "own.txt" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("protocol", [*CASES, "tagging"])
def test_a_gpu_that_is_not_there_is_one_line_and_one_that_is_gives_the_same_numbers(small, protocol):
    resolved = small.resolved(protocol)
    training = build_training(resolved, 0, Path(resolved.corpus), "reference")
    if not torch.cuda.is_available() or protocol == "tagging":
        with pytest.raises(UserError, match="--device cuda"):
            training.move_to_gpu()
        return
    before = measured(resolved, Path(resolved.corpus))
    training.move_to_gpu()
    for entry in training.measure(lambda _: None).metrics:
        if key := before.get((entry["split"], entry["metric"])):
            assert entry["value"] == pytest.approx(key[0], rel=1e-5)
