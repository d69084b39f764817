"""Characters of the Wall Street Journal text of the Penn Treebank, from Mikolov's preprocessing of it, or the raw text.

Document 000 (section 4) reads the licensed raw text of 49,689 lines. It is read if the configuration names the folder
of a user's own Treebank-3 (`reprise.config.ldc_wsj`). Otherwise the three files of Mikolov's text (Interspeech 2011)
are concatenated, 49,199 lines, and normalised as the paper says. Their own preprocessing leaves traces that make the
text easier. A rare word is `<unk>` and becomes the word "unk"; a number is `N` and becomes the word "n".
`n't` and `'s` stand apart and become "n t" and "s". Punctuation is gone.
"""

from pathlib import Path

from reprise.config.ldc_wsj import list_stories
from reprise.data.corpus import Corpus
from reprise.data.raw import read_lines
from reprise.data.text import character_lines
from reprise.options import Values

FILES = ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt")
_HEADER = ".START"


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of the stories in `raw`, else of `raw/ptb.{train,valid,test}.txt`, in this order.

    Options: as of `character_lines.make_line_corpus`.

    Raises:
        UserError: for missing files, and what `read_lines` refuses.
    """
    lines = [line for path in list_stories(raw) for line in read_lines(path) if line.strip() != _HEADER]
    if not lines:
        lines = [line for name in FILES for line in read_lines(raw / name)]
    return character_lines.make_line_corpus("wsj-characters", lines, options)
