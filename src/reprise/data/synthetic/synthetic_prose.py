"""Prose of known entropy, character by character: the tier that needs no network trains on it in place of a book."""

from pathlib import Path

from reprise.data.corpus import Corpus
from reprise.data.synthetic.markov import make_chain
from reprise.data.text.books import make_character_corpus
from reprise.files import write_if_changed
from reprise.options import Values

NAME = "synthetic-prose"


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of sentences of `markov`, written as a book's: a capital first, a full stop at the end.

    After the book comes its licence in another language, as in the books of document 002. Its words are spelt backwards
    and so begin with vowels, the book's with consonants. Extra `licence` as in `books`. Such a text can be read back
    into its words, so text and words have the same probability. The fact `source_nats` is the loss of the two sources
    on it, in nats a character. The text is also written to `raw/synthetic-prose.txt` for readers.
    """
    parts, nats = [], 0.0
    for number, name in enumerate(("training_sentences", "licence_sentences")):
        source = make_chain(options["vocabulary_size"], options["seed"] + number)
        drawn = source.sample(options[name], options["seed"], number)
        sentences = [sentence[:: -1 if number else 1] for sentence in source.format_text(drawn).splitlines()]
        parts.append(" ".join(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences))
        nats += source.compute_cross_entropy(drawn) * len(drawn)
    text = " ".join(parts)
    write_if_changed(raw / f"{NAME}.txt", text)
    corpus = make_character_corpus(NAME, text, licence=(0, len(parts[0])))
    corpus.facts["source_nats"] = {"train": round(float(nats / len(text)), 9)}
    return corpus
