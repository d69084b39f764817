"""Generated sentences as lines of 27 symbols in folds: document 000's experiments without a network or a licence."""

from pathlib import Path

from reprise.data.corpus import Corpus
from reprise.data.synthetic.markov import make_chain
from reprise.data.text import character_lines
from reprise.options import Values

_WORDS, _SEED = 200, 1


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of `lines` sentences of a Markov chain over 200 pseudo-words, always the same.

    The other options are those of `character_lines.make_line_corpus`.

    Raises:
        UserError: There are too few lines.
    """
    source = make_chain(_WORDS, _SEED)
    text = source.format_text(source.sample(options["lines"], _SEED, 0))
    return character_lines.make_line_corpus("synthetic-lines", text.splitlines(), options)
