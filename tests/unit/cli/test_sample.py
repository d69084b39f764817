"""What kept weights write, and which words are like which."""

import argparse
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from reprise.cli.sample import Text, draw_symbols, sample_command
from reprise.data.text.character_lines import BIGRAMS, CHARACTERS
from reprise.errors import UserError
from reprise.evaluation.neighbours import find_neighbours, find_words_with_matrices
from reprise.models.rntn import RNTN

WORDS = ["</s>", "<unk>", "a", "bc"]


def make_arguments(**changes):
    return argparse.Namespace(**{"temperature": 1.0, "top_k": None, "seed": 0, "length": 400} | changes)


def fixed(symbols):
    return torch.log(torch.tensor([0.5, 0.3, 0.15, 0.05]))


def counts(**changes):
    return torch.bincount(torch.tensor(list(draw_symbols(fixed, [0], make_arguments(**changes)))), minlength=4)


def test_symbols_are_drawn_as_often_as_the_model_says_and_the_seed_decides():
    drawn = counts(length=4000) / 4000
    assert drawn.sub(torch.tensor([0.5, 0.3, 0.15, 0.05])).abs().max() < 0.03
    assert [list(draw_symbols(fixed, [0], make_arguments(seed=s))) for s in (1, 1)] == [
        list(draw_symbols(fixed, [0], make_arguments(seed=1)))
    ] * 2
    assert list(draw_symbols(fixed, [0], make_arguments(seed=1))) != list(
        draw_symbols(fixed, [0], make_arguments(seed=2))
    )


@pytest.mark.parametrize(
    ("options", "words"), [({"top_k": 1}, {0}), ({"top_k": 2}, {0, 1}), ({"top_k": 9}, {0, 1, 2, 3})]
)
def test_only_the_likeliest_are_drawn(options, words):
    assert {i for i, n in enumerate(counts(**options).tolist()) if n} == words


def test_a_low_temperature_draws_the_likeliest_more_often():
    cold, warm = (counts(temperature=t)[0] for t in (0.3, 3.0))
    assert cold > 320
    assert warm < 160


def test_the_lowest_temperature_draws_the_likeliest():
    assert counts(temperature=1e-320).tolist() == [400, 0, 0, 0]


def test_every_symbol_follows_those_before_it():
    def counting(symbols):
        return torch.log(torch.nn.functional.one_hot((symbols[-1] + 1) % 4, 4).double())

    assert list(draw_symbols(counting, [2], make_arguments(length=6))) == [3, 0, 1, 2, 3, 0]


def test_words_have_blanks_between_them_and_sentences_a_line_each():
    words, letters = Text(WORDS, "</s>"), Text(["\n", "a", "b"], "none")
    assert words.read_symbols("a zz bc") == [2, 1, 3]
    assert words.spell([2, 3, 0, 2]) == "a bc\n a"
    assert letters.read_symbols("ab\n") == [1, 2, 0]
    assert letters.spell([1, 2, 0, 1]) == "ab\na"


def test_a_text_without_end_marks_may_have_words_and_none_of_them_ends_a_sentence():
    types = Text(["a", "none", "de"], "none")
    assert types.read_symbols("de none a") == [2, 1, 0]
    assert types.spell([2, 1, 0]) == "de none a"


def test_lines_are_cut_as_their_corpus_is():
    characters, bigrams = Text(CHARACTERS, "line"), Text(CHARACTERS + BIGRAMS, "line")
    for text, cut in ((characters, [*"the sta"]), (bigrams, ["th", "e", " ", "st", "a"])):
        symbols = text.read_symbols("the sta")
        assert [text.vocabulary[symbol] for symbol in symbols] == cut
        assert text.spell(symbols) == "the sta"


def test_a_word_that_a_model_cannot_read_is_named():
    with pytest.raises(UserError, match="'zz'"):
        Text(["</s>", "a"], "</s>").read_symbols("a zz")
    with pytest.raises(UserError, match="'T'"):
        Text(CHARACTERS + BIGRAMS, "line").read_symbols("The")


def test_a_translation_takes_a_sentence_and_nothing_that_is_drawn(monkeypatch, capsys):
    translator = SimpleNamespace(translate=lambda source, *_: f"[{source}]")
    for name, value in {
        "find_experiment": (None, SimpleNamespace(id="p/e")),
        "require_trained": None,
        "find_corpus": None,
        "load_trained": SimpleNamespace(training=translator),
        "_note_other_weights": None,
    }.items():
        monkeypatch.setattr(f"reprise.cli.sample.{name}", lambda *_, value=value: value)
    drawing = {"prompt": "x", "temperature": 0.5, "top_k": 3, "seed": 0}
    options = dict.fromkeys(("experiment", "tier", "corpus", "weights", "beam", *drawing)) | {"replica": 0}
    sample_command(make_arguments(**options, source="a"))
    assert capsys.readouterr().out == "[a]\n"
    for name, value in drawing.items():
        with pytest.raises(UserError, match=f"--{name.replace('_', '-')}"):
            sample_command(make_arguments(**options | {name: value}, source="a"))


def test_neighbours_are_the_nearest_by_cosine_of_what_rows_do_not_share():
    rows = torch.tensor([[9.0, 1.0, 0.0], [9.0, 2.0, 0.1], [9.0, -1.0, 0.0], [9.0, -2.0, 0.1]])
    assert [near[0] for near in find_neighbours(rows, 1)] == [1, 0, 3, 2]
    assert all(len(near) == 3 and i not in near for i, near in enumerate(find_neighbours(rows, 9)))


def test_only_models_with_matrices_of_single_words_have_them():
    vectors, matrices = find_words_with_matrices(RNTN(10, 4, matrices=5))
    assert (vectors.shape, matrices.shape) == ((10, 4), (5, 16))
    for model in (RNTN(10, 4), RNTN(10, 4, matrices=5, mapping="f_mod"), nn.Linear(2, 2)):
        assert find_words_with_matrices(model) is None
