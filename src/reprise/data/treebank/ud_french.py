"""French of the Universal Dependencies as document 004, section 5, uses it.

The text is one stream of lower-cased tokens. Every type of token has the POS tags and features that its tokens bear
anywhere in the corpus.

The paper counts 463,069 tokens in release 1.3, which has 401,960 words. 463,069 is the number of lines of its three
files. They are words, ranges ("du", which stands before its words "de" and "le"), and three other lines a sentence.
These are two comments before it and a blank line after it. Ranges and these lines bring the POS tags `_` and NIL of the
paper's Table 3.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from reprise.data.corpus import Corpus, Split, compute_offsets, pack_sparse_rows, rank_by_count
from reprise.data.raw import describe_fetching
from reprise.data.treebank.conllu_rows import Features, Row, Sentence, Treebank, read_treebank
from reprise.data.treebank.minimal_pairs import find_minimal_pairs
from reprise.errors import UserError
from reprise.options import Values

PARTS = {"train": "train", "test1": "test", "test2": "dev"}
"""Split -> part of the treebank (the paper's Table 1); the split valid comes out of the treebank's training part."""

NIL = "@nil"
"""The one type of the lines that are no rows; its POS tag is NIL, after Table 3 of document 004."""
_NIL_ROW = Row(NIL, None, "NIL", (), None, None, is_range=False)


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of `raw/*-ud-{train,dev,test}.conllu`, each plain or `.gz`; splits train, valid, test1, test2.

    Options: `accounting` says what counts as a token: rows (words, ranges and three `@nil` a sentence), surface (words
    and ranges) or words. `validation` says which `validation_sentences` of the training part are held out: the last
    ones or a fixed random draw.

    No token marks the end of a sentence (facts["boundaries"] is "none"): the text is one stream, whose sentences only
    `offsets` know. The vocabulary is all types of the entire corpus, by their frequency in it. Ties go by first
    appearance in train, test, dev. The paper's features need this order: they are of "the M most frequent word types
    appearing in the entire corpus" (section 5.2). `counts` are those of the split train. Extra, for V types:

    * corpus_counts (V,) int64, tokens of the entire corpus;
    * tag_indptr (V+1,) int64 and tag_indices int32: the tags of type t in the entire corpus are
      tag_indices[tag_indptr[t]:tag_indptr[t+1]], numbers of facts["tags"];
    * train_tag_indptr, train_tag_indices: the same in the split train alone;
    * agreement_*: the minimal pairs that `reprise.data.treebank.minimal_pairs` describes.

    Raises:
        UserError: Options make no sense, or a file is missing, ambiguous or no CoNLL-U.
    """
    parts = {split: read_treebank(find_treebank_file(raw, part), NIL) for split, part in PARTS.items()}
    sentences = [sentence for part in parts.values() for sentence in part.sentences]
    text = [select_rows(sentence, options["accounting"]) for sentence in sentences]
    counts = rank_types(text)
    ids = {form: i for i, form in enumerate(counts)}
    chosen = _split_sentences(raw, {split: len(part.sentences) for split, part in parts.items()}, options)
    texts = {split: [text[i] for i in numbers] for split, numbers in chosen.items()}
    splits = {split: _encode(rows, ids) for split, rows in texts.items()}
    training_counts = np.bincount(splits["train"].tokens, minlength=len(ids))
    tag_facts, tag_arrays = _collect_tags(text, texts["train"], ids)
    tests = {split: (parts[split].sentences, find_word_places(texts[split])) for split in ("test1", "test2")}
    pairs, pair_facts = find_minimal_pairs(tests, sentences, ids)
    facts = {  # the numbers of the paper's Tables 1 to 3, and the treebank's own, which no option changes
        "words": {split: sum(map(_is_word, chain(*rows))) for split, rows in texts.items()},
        "unseen_tokens": {split: int((training_counts[data.tokens] == 0).sum()) for split, data in splits.items()},
        "corpus": _describe_corpus(len(sentences), counts, unseen_types=int((training_counts == 0).sum())),
        **tag_facts,
        "treebank": _describe_treebank(parts),
        "agreement": pair_facts,
    }
    extra = {"corpus_counts": np.array(list(counts.values()), np.int64), **tag_arrays, **pairs}
    training_counts_by_type = dict(zip(ids, training_counts.tolist(), strict=True))
    return Corpus.from_counts("ud_french", splits, training_counts_by_type, "none", facts, extra)


def _encode(text: Sequence[Sequence[Row]], ids: Mapping[str, int]) -> Split:
    """Return sentences as the numbers of their types."""
    return Split.from_id_lists([[ids[row.form.lower()] for row in sentence] for sentence in text])


def _collect_tags(
    text: Sequence[Sequence[Row]], training_text: Sequence[Sequence[Row]], ids: Mapping[str, int]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Collect the tags of a text: facts about them, and the tags of every type in the text and in training."""
    tag_tokens = Counter(tag for row in chain(*text) for tag in list_tags(row.upos, row.features))
    tags = sorted(tag_tokens, key=lambda tag: (not tag.startswith("POS:"), tag))
    indptr, indices = _index_tags(chain(*text), ids, tags)
    train_indptr, train_indices = _index_tags(chain(*training_text), ids, tags)
    tag_types = dict(zip(tags, np.bincount(indices, minlength=len(tags)).tolist(), strict=True))
    arrays = {"tag_indptr": indptr, "tag_indices": indices}
    arrays |= {"train_tag_indptr": train_indptr, "train_tag_indices": train_indices}
    return {"tags": tags, "tag_tokens": tag_tokens, "tag_types": tag_types}, arrays


def _describe_corpus(sentence_count: int, counts: Counter[str], unseen_types: int) -> dict[str, float]:
    """Return the numbers of the paper's Table 2, from the counts of all types, and of types outside training."""
    return {
        "sentences": sentence_count,
        "tokens": counts.total(),
        "nil": counts[NIL],
        "types": len(counts),
        "average_sentence_length": round(counts.total() / sentence_count, 9),
        "token_type_ratio": round(counts.total() / len(counts), 9),
        "types_outside_training": unseen_types,
    }


def _describe_treebank(parts: Mapping[str, Treebank]) -> dict[str, Any]:
    """Return the numbers of sentences and lines of every part of the treebank, and of its words and ranges."""
    rows = [row for part in parts.values() for sentence in part.sentences for row in sentence.rows]
    return {
        "sentences": {PARTS[split]: len(part.sentences) for split, part in parts.items()},
        "lines": {PARTS[split]: part.lines for split, part in parts.items()},
        "words": sum(not row.is_range for row in rows),
        "ranges": sum(row.is_range for row in rows),
    }


def select_rows(sentence: Sentence, accounting: str) -> list[Row]:
    """Return the tokens of a sentence. A row of the form NIL stands for a line of the file that is no row."""
    if accounting == "rows":
        return [_NIL_ROW, _NIL_ROW, *sentence.rows, _NIL_ROW]
    return [row for row in sentence.rows if accounting == "surface" or not row.is_range]


def rank_types(text: Iterable[Iterable[Row]]) -> Counter[str]:
    """Return the types of a text in lower case with their counts, by decreasing frequency, ties by first appearance."""
    return Counter(rank_by_count(Counter(row.form.lower() for row in chain(*text))))


@cache
def list_tags(upos: str, features: Features) -> tuple[str, ...]:
    """Return the tags of a token: "POS:NOUN", "Gender:Fem" and so on."""
    return (f"POS:{upos}", *(f"{name}:{value}" for name, value in features))


def find_word_places(text: Sequence[Sequence[Row]]) -> list[np.ndarray]:
    """Return the places of each sentence's words among the tokens of all of them; int64."""
    starts = compute_offsets(map(len, text))[:-1]
    return [start + np.flatnonzero([_is_word(row) for row in rows]) for start, rows in zip(starts, text, strict=True)]


def _is_word(row: Row) -> bool:
    return not row.is_range and row is not _NIL_ROW


def _index_tags(rows: Iterable[Row], ids: Mapping[str, int], tags: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return which tags the rows of each type bear (section 5.2), as `pack_sparse_rows` of types by tags."""
    numbers = {tag: i for i, tag in enumerate(tags)}
    has_tag = np.zeros((len(ids), len(tags)), bool)
    for form, upos, features in {(row.form.lower(), row.upos, row.features) for row in rows}:
        has_tag[ids[form], [numbers[tag] for tag in list_tags(upos, features)]] = True
    return pack_sparse_rows(has_tag)


def find_treebank_file(raw: Path, part: str) -> Path:
    """Return the one file of a part: treebanks and releases name theirs differently (fr-ud-dev, fr_gsd-ud-dev).

    Raises:
        UserError: There is none, or more than one.
    """
    files = sorted(p for p in raw.glob(f"*-ud-{part}.*") if p.name.endswith((".conllu", ".conllu.gz")))
    if not files:
        raise UserError(f"{raw}: no file *-ud-{part}.conllu or .conllu.gz; {describe_fetching(raw)}")
    if len(files) > 1:
        names = ", ".join(p.name for p in files)
        raise UserError(f"{raw}: {names} are all called the part {part}; keep the dataset's own file")
    return files[0]


def _split_sentences(raw: Path, sizes: Mapping[str, int], options: Values) -> dict[str, np.ndarray]:
    """Return numbers of the sentences of each split, in the order of the files (train, test, dev); int64."""
    n, held_out = sizes["train"], options["validation_sentences"]
    if held_out >= n:
        raise UserError(
            f"dataset {raw.name}: option validation_sentences: {held_out} leave nothing of {n} training sentences"
        )
    numbers = list(range(n))
    if options["validation"] == "random":
        # By a hash of the number, so that the draw is the same with every version of every library.
        numbers.sort(key=lambda i: hashlib.sha256(f"validation {i}".encode()).digest())
    valid = np.sort(np.array(numbers[n - held_out :], np.int64))
    splits = {"train": np.setdiff1d(np.arange(n), valid), "valid": valid}
    for split in ("test1", "test2"):
        splits[split] = np.arange(n, n + sizes[split])
        n += sizes[split]
    return splits
