"""A parallel text of our own, without a network: sentences of a Markov chain and their translation by a cipher."""

from pathlib import Path

from reprise.data.corpus import SPLITS, Corpus
from reprise.data.pairs.pairs import make_parallel_corpus
from reprise.data.synthetic.markov import make_chain
from reprise.errors import UserError
from reprise.files import write_if_changed
from reprise.options import Values

NAME = "synthetic-pairs"
_DRAWN = 8
"""Sentences drawn for each one needed, because longer ones than `most_words` are dropped."""


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of sentences of `markov` of at most `most_words` words, and of their `translation`.

    Validation and test have a tenth of the training sentences. A target follows from its source, so that the best model
    loses nothing. The texts are also written to `raw/synthetic-pairs.<split>.{source,target}.txt` for readers.

    Raises:
        UserError: Too few sentences are that short.
    """
    chain, most = make_chain(options["vocabulary_size"], options["seed"]), options["most_words"]
    pairs = {}
    for i, split in enumerate(SPLITS):
        sentence_count = options["training_sentences"] // (1 if split == "train" else 10)
        drawn = chain.format_text(chain.sample(_DRAWN * sentence_count, options["seed"], i))
        sources = [words for words in map(str.split, drawn.splitlines()) if len(words) <= most]
        if len(sources) < sentence_count:
            raise UserError(f"dataset {NAME}: option most_words: too few sentences have {most} words or less; raise it")
        pairs[split] = [(words, translate_words(words)) for words in sources[:sentence_count]]
        for side, texts in zip(("source", "target"), zip(*pairs[split], strict=True), strict=True):
            text = "".join(f"{' '.join(words)}\n" for words in texts)
            write_if_changed(raw / f"{NAME}.{split}.{side}.txt", text)
    lines = [(" ".join(source), " ".join(target)) for source, target in pairs["test"]]
    return make_parallel_corpus(NAME, pairs, lines, 1, lowercase=False)


def translate_words(words: list[str]) -> list[str]:
    """Return each word spelt backwards, and the first and second, third and fourth, ... of them exchanged."""
    spelt = [word[::-1] for word in words]
    exchanged = [word for i in range(0, len(spelt) - 1, 2) for word in (spelt[i + 1], spelt[i])]
    return exchanged + spelt[len(exchanged) :]
