"""Text of known entropy: a language model's cross-entropy can be held to the truth, offline."""

from pathlib import Path
from typing import Any

from reprise.data.corpus import SPLITS, Corpus
from reprise.data.synthetic.markov import compute_entropy, make_chain
from reprise.data.text.words import make_word_corpus
from reprise.files import write_if_changed
from reprise.options import Values

HELD_OUT = 400
"""Sentences for validation, and as many for the test."""


def prepare(raw: Path, options: Values, held_out: int = HELD_OUT) -> Corpus:
    """Return the corpus of generated text, which is also written to `raw/synthetic.{train,valid,test}.txt`.

    The files show the latest preparation to a reader; no corpus is read from them. Facts, in nats per token with `</s>`
    counted:

    * entropy_rate_nats: sum_i pi_i H(P_i), the least cross-entropy that a model can expect;
    * unigram_entropy_nats: H(pi), the same without context;
    * source_nats: the cross-entropy of the source itself on each split.
    """
    source = make_chain(options["vocabulary_size"], options["seed"])
    sizes = zip(SPLITS, (options["training_sentences"], held_out, held_out), strict=True)
    drawn = {split: source.sample(size, options["seed"], i) for i, (split, size) in enumerate(sizes)}
    paths = {split: raw / f"synthetic.{split}.txt" for split in SPLITS}
    for split, path in paths.items():
        write_if_changed(path, source.format_text(drawn[split]))
    words = {split: [source.words[j].encode() for j in drawn[split]] for split in SPLITS}
    corpus = make_word_corpus("synthetic", words, paths, extra_words=source.words)
    pi = source.compute_stationary()
    corpus.facts.update(
        entropy_rate_nats=_round(source.compute_entropy_rate()),
        unigram_entropy_nats=_round(compute_entropy(pi)),
        mean_sentence_tokens=_round(1.0 / pi[0]),
        source_nats={split: _round(source.compute_cross_entropy(drawn[split])) for split in SPLITS},
    )
    return corpus


def _round(value: Any) -> float:
    return round(float(value), 9)  # the digits on which linear-algebra libraries agree
