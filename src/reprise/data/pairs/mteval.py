"""Words of a text as NIST's script mteval-v13a.pl cuts them, the tokenisation "13a" that BLEU is usually counted in.

Corpora and scores cut their words by this one rule. A test holds it to sacrebleu, which training can do without.
"""

import re

_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
# ASCII punctuation but for the apostrophe, which stays in its word, and . , - which numbers may hold.
_SYMBOL = re.compile(r'[!"#$%&()*+/:;<=>?@\[\\\]^_`{|}~]')
# A point or comma stands alone unless a digit is before it, then unless one is behind it. The character beside it is
# part of the match, as in the script. So in "..1" the second point has no character before it, and stays with its 1.
_BEHIND = re.compile(r"([^0-9])([.,])")
_BEFORE = re.compile(r"([.,])([^0-9])")
_DASH = re.compile(r"(?<=[0-9])-")


def tokenise_13a(text: str) -> list[str]:
    """Return the words of one line of text."""
    if "&" in text:
        for entity, symbol in _ENTITIES.items():
            text = text.replace(entity, symbol)
    text = _SYMBOL.sub(r" \g<0> ", f" {text} ")
    text = _BEHIND.sub(r"\1 \2 ", text)
    text = _BEFORE.sub(r" \1 \2", text)
    text = _DASH.sub(r" \g<0> ", text)
    return text.split()
