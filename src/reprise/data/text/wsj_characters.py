"""Characters of the Wall Street Journal text of the Penn Treebank, from Mikolov's preprocessing of it, or the raw text.

Document 000 (section 4) reads the licensed raw text, 49,689 lines: a user's own Treebank-3 takes its place where the
configuration names its folder (`reprise.config.ldc_wsj`). Without one the three files of Mikolov's text (Interspeech
2011), 49,199 lines, are put one after the other and normalised as the paper says. Their own preprocessing leaves traces
that make the text easier: a rare word is `<unk>` and becomes the word "unk", a number is `N` and becomes the word "n",
`n't` and `'s` stand apart and become "n t" and "s", punctuation is gone.
"""

from pathlib import Path

from reprise.config.ldc_wsj import stories
from reprise.data.corpus import Corpus
from reprise.data.raw import read_bytes
from reprise.data.text import character_lines
from reprise.options import Values

TOKENS = character_lines.TOKENS
OPTIONS = character_lines.OPTIONS
FILES = ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt")
_HEADER = b".START"


def prepare(raw: Path, options: Values) -> Corpus:
    """Corpus of the stories in `raw`, else of `raw/ptb.{train,valid,test}.txt`, in this order.

    Options as in `character_lines.corpus_of`. Raises UserError for missing or empty files.
    """
    texts = [sentences(path.read_bytes()) for path in stories(raw)]
    if not texts:
        texts = [text if text.endswith(b"\n") else text + b"\n" for text in (read_bytes(raw / name) for name in FILES)]
    return character_lines.corpus_of("wsj-characters", b"".join(texts), options)


def sentences(story: bytes) -> bytes:
    """A story of the Treebank without its `.START` line, every line closed."""
    lines = [line for line in story.splitlines() if line.strip() != _HEADER]
    return b"".join(line + b"\n" for line in lines)
