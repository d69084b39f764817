"""Words of a text as NIST's script mteval-v13a.pl cuts them, the tokenisation "13a" that BLEU is usually counted in.

Corpora and scores cut their words by this one rule. A test holds it to sacrebleu, which training can do without.
"""

from __future__ import annotations

import re

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
# ASCII punctuation but for the apostrophe, which stays in its word, and . , - which numbers may hold.
_SYMBOL = re.compile(r'[!"#$%&()*+/:;<=>?@\[\\\]^_`{|}~]')
_POINT = re.compile(r"(?<![0-9])[.,]|[.,](?![0-9])")  # a point or comma, unless it stands between two digits
_DASH = re.compile(r"(?<=[0-9])-")


def words_13a(text: str) -> list[str]:
    """The words of one line of text."""
    if "&" in text:
        for entity, symbol in _ENTITIES.items():
            text = text.replace(entity, symbol)
    for pattern in (_SYMBOL, _POINT, _DASH):
        text = pattern.sub(r" \g<0> ", text)
    return text.split()
