"""Penn Treebank as preprocessed by Mikolov (Interspeech 2011): 10,000 words, a sentence a line."""

from pathlib import Path

from reprise.data.corpus import SPLITS, Corpus, compute_unk_shares
from reprise.data.text.words import make_word_corpus, read_sentences
from reprise.options import Values


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of `raw/ptb.{train,valid,test}.txt`; `</s>` ends every sentence and is counted.

    The vocabulary is that of the training text; the other two have no word outside it. Facts: as in `make_word_corpus`
    and unk_share.

    Raises:
        UserError: A file is missing, or has words outside the vocabulary.
    """
    paths = {split: raw / f"ptb.{split}.txt" for split in SPLITS}
    corpus = make_word_corpus("ptb", {split: read_sentences(path) for split, path in paths.items()}, paths)
    corpus.facts["unk_share"] = compute_unk_shares(corpus.splits, corpus.vocabulary)
    return corpus
