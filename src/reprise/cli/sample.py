"""Write texts with kept weights."""

import argparse
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reprise.cli.common import find_experiment
from reprise.cli.evaluate import (
    TrainedReplica,
    find_corpus,
    find_record,
    find_weights,
    load_trained,
    require_trained,
)
from reprise.config.project import Project
from reprise.data.corpus import SENTENCE_END, UNKNOWN, Corpus
from reprise.data.text.character_lines import CHARACTERS, LINE, cut_lines, find_tokens
from reprise.errors import UserError, make_printable
from reprise.files import entry_exists
from reprise.records.record import read_record
from reprise.records.resolved import Resolved

_LOG = logging.getLogger(__name__)
_DRAWING = ("prompt", "temperature", "top_k", "seed")
"""Options of a text that is drawn; a translation is not."""


def sample_command(options: argparse.Namespace) -> None:
    """Let a trained model write a text: it draws each word or character given those before.

    The weights are those that training kept. A translation model translates --source. It takes the likeliest word each
    time, or with --beam N keeps N translations open. The same seed gives the same text.
    """
    from reprise.training.torch_state import use_torch_settings

    with use_torch_settings():
        _write_sample(options)


def _write_sample(options: argparse.Namespace) -> None:
    project, experiment = find_experiment(options.tier, options.experiment)
    require_trained(project, experiment, options.replica, options.weights)
    corpus = find_corpus(project, experiment, options.corpus)
    trained = load_trained(project, experiment, options.replica, options.weights, corpus)
    _note_other_weights(project, experiment, trained, options)
    training = trained.training
    if hasattr(training, "translate"):
        require(
            options.source is not None, f"{experiment.id}: is a model of translation; give a sentence with --source"
        )
        option = next((name for name in _DRAWING if getattr(options, name) is not None), None)
        require(
            option is None, f"--{(option or '').replace('_', '-')}: {experiment.id} is a model of translation; omit it"
        )
        print(make_printable(training.translate(options.source, options.length, options.beam or 1)))
        return
    option = next((option for option in ("source", "beam") if getattr(options, option) is not None), None)
    require(option is None, f"--{option}: {experiment.id} is no model of translation; use --prompt")
    loaded = Corpus.load(corpus) if corpus else None
    require(loaded is not None, f"{experiment.id}: trains no model of a text; name another experiment")
    text = Text(loaded.vocabulary, loaded.boundaries)
    start = text.read_symbols(options.prompt or "")
    sys.stdout.write(make_printable(text.spell(start)))
    previous = None
    for symbol in draw_symbols(training.compute_next_log_p, start or [text.first], options):
        sys.stdout.write(make_printable(text.spell_piece(symbol, previous is None and not start)))
        sys.stdout.flush()
        previous = symbol
    print()


def _note_other_weights(
    project: Project, experiment: Resolved, trained: TrainedReplica, options: argparse.Namespace
) -> None:
    """Log it where the replica's record names other weights, or cannot be read."""
    weights = find_weights(project, experiment, options.replica, options.weights)
    path = find_record(project, experiment, options.replica, weights)
    if not entry_exists(path):
        return
    try:
        recorded = read_record(path, experiment, options.replica)["run"].get("weights_sha256")
    except UserError as error:
        _LOG.warning("note: %s", error)
        return
    if recorded not in (None, trained.digest):
        _LOG.warning("note: %s names other weights than these", path)


def require(holds: bool, line: str) -> None:
    """Raise a `UserError` unless an option is sound."""
    if not holds:
        raise UserError(line)


class Text:
    """Spell a corpus's symbols: words with blanks between them, characters, or the symbols of document 000's lines."""

    def __init__(self, vocabulary: Sequence[str], boundaries: str) -> None:
        self.vocabulary, self.numbers = vocabulary, {word: i for i, word in enumerate(vocabulary)}
        self.end = self.numbers[SENTENCE_END] if boundaries == SENTENCE_END else None
        self.has_lines = boundaries == LINE
        self.has_words = not self.has_lines and any(len(symbol) > 1 for symbol in vocabulary)
        self.first = self.end if self.end is not None else 0

    def read_symbols(self, text: str) -> list[int]:
        """Return the numbers of a text's symbols, unknown words as <unk>; `UserError` for what has no number."""
        pieces = text.split() if self.has_words else text
        if self.has_lines and len(self.vocabulary) >= len(CHARACTERS) and {*text} <= {*CHARACTERS}:
            return cut_lines([text], find_tokens(self.vocabulary)).tokens.tolist()
        other = self.numbers.get(UNKNOWN) if self.has_words else None
        symbols = [self.numbers.get(piece, other) for piece in pieces]
        unknown = next((piece for piece, symbol in zip(pieces, symbols, strict=True) if symbol is None), None)
        require(unknown is None, f"--prompt: the model does not know {unknown!r}; omit it")
        return symbols

    def spell(self, symbols: Sequence[int]) -> str:
        """Return the text of symbols."""
        return "".join(self.spell_piece(symbol, at == 0) for at, symbol in enumerate(symbols))

    def spell_piece(self, symbol: int, first: bool) -> str:
        """Return what a symbol adds to the text; the end of a sentence begins a line."""
        if symbol == self.end:
            return "\n"
        blank = " " if self.has_words and not first else ""
        return blank + self.vocabulary[symbol]


def draw_symbols(
    compute_next_log_p: Callable[[Any], Any], start: Sequence[int], options: argparse.Namespace
) -> Iterator[int]:
    """Draw one symbol after another, each from p ** (1 / temperature), of the likeliest `top_k` where these are asked.

    Symbol t is drawn by number t of the seed's stream, so that the same seed gives the same text.
    """
    import torch

    from reprise import counters
    from reprise.evaluation.sampling import sample_by_inverse_cdf

    symbols = list(start)
    uniform = counters.draw_uniform32(counters.compute_key(options.seed or 0, 0), 0, options.length) / 2.0**32
    with torch.no_grad():
        for number in uniform:
            log_p = compute_next_log_p(torch.tensor(symbols)).double()
            # The largest becomes 0, which no temperature makes infinite.
            log_p = (log_p - log_p.max()) / (options.temperature or 1.0)
            if options.top_k is not None and options.top_k < len(log_p):
                least = log_p.topk(options.top_k).values[-1]
                log_p[log_p < least] = -torch.inf
            symbols.append(int(sample_by_inverse_cdf(torch.softmax(log_p, 0)[None], number[None])[0]))
            yield symbols[-1]
