"""Text of known entropy whose types bear tags, in the form of a treebank's corpus (`ud_french`)."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from reprise.data.corpus import Corpus, Split, pack_sparse_rows
from reprise.data.synthetic.markov import MarkovChain, make_chain
from reprise.options import Values

TREEBANK_SPLITS = ("train", "valid", "test1", "test2")
NIL = "@nil"
_STEP = 5  # a minimal pair at every fifth token: enough to measure, few enough for a test


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of the source of `markov`; valid, test1 and test2 have a tenth of the training sentences.

    A type bears the tag POS:Lk for each list k of successors that holds it. It bears Next:Lk for the list that follows
    it. So tags tell what may follow what. `@nil` (POS:NIL) ends each sentence. Vocabulary, counts, facts and extra
    arrays are those of `ud_french`; types that are never drawn are left out. The minimal pairs compare the probability
    of a token with that of a type that cannot follow the token before it. In the place of their distance stands the
    token's place in its sentence, from 1.

    Other facts: `entropy_rate_nats`, and `source_nats`, the loss of the source itself on each split, a token.
    """
    source = make_chain(options["vocabulary_size"], options["seed"])
    sizes = {split: options["training_sentences"] // (1 if split == "train" else 10) for split in TREEBANK_SPLITS}
    drawn = {split: np.array(source.sample(size, options["seed"], i)) for i, (split, size) in enumerate(sizes.items())}
    counts = np.bincount(np.concatenate(list(drawn.values())), minlength=len(source.words))
    order = np.argsort(-counts, kind="stable")[: (counts > 0).sum()]
    ids = np.full(len(source.words), -1)
    ids[order] = np.arange(len(order))
    tags, has_tag = _make_tags(source)
    training = np.bincount(ids[drawn["train"]], minlength=len(order))
    sparse = {}
    for prefix, of_types in (("tag", has_tag[order]), ("train_tag", has_tag[order] & (training > 0)[:, None])):
        sparse[f"{prefix}_indptr"], sparse[f"{prefix}_indices"] = pack_sparse_rows(of_types)
    words = [NIL if i == 0 else source.words[i] for i in order]
    return Corpus.from_counts(
        "synthetic_tags",
        {split: Split.from_ended_sentences(ids[text], ids[0]) for split, text in drawn.items()},
        dict(zip(words, training.tolist(), strict=True)),
        "none",
        facts={
            "tags": tags,
            "agreement": {"splits": ["test1", "test2"], "kinds": ["successor"], "features": ["POS"]},
            "entropy_rate_nats": round(source.compute_entropy_rate(), 9),
            "source_nats": {
                split: round(source.compute_cross_entropy(text.tolist()), 9) for split, text in drawn.items()
            },
        },
        extra={"corpus_counts": counts[order], **sparse, **_make_pairs(source, drawn, ids)},
    )


def _make_tags(source: MarkovChain) -> tuple[list[str], np.ndarray]:
    """Return the K tags, and which words bear them, (words, K) bool."""
    followers = [tuple(row[1:]) for row in source.successors]  # of a word; </s> is no member of its list
    lists = sorted(set(followers[1:]))
    is_member, precedes = np.zeros((2, len(source.words), len(lists)), bool)
    for k, words in enumerate(lists):
        is_member[list(words), k] = True
        precedes[:, k] = [follows == words for follows in followers]
    ends = np.arange(len(source.words)) == 0
    names = [f"{kind}:L{k}" for kind in ("POS", "Next") for k in range(len(lists))]
    return [*names, "POS:NIL"], np.concatenate([is_member, precedes, ends[:, None]], axis=1)


def _make_pairs(source: MarkovChain, drawn: Mapping[str, np.ndarray], ids: np.ndarray) -> dict[str, np.ndarray]:
    """Pair every fifth token of the tests with a type of equal rank that cannot stand in its place."""
    rows = []
    possible = source.get_transitions() > 0
    types = np.flatnonzero(ids >= 0)
    for number, split in enumerate(("test1", "test2")):
        text = drawn[split]
        for place in range(_STEP, len(text), _STEP):
            others = types[~possible[text[place - 1], types]]
            wrong = others[np.argmin(np.abs(ids[others] - ids[text[place]]))]
            start = 1 + np.flatnonzero(text[:place] == 0)[-1] if (text[:place] == 0).any() else 0
            rows.append((number, place, ids[text[place]], ids[wrong], 1 + place - start))
    table = np.array(rows, np.int64).reshape(-1, 5)  # none in a text of a few words
    arrays = {name: table[:, i] for i, name in enumerate(("split", "position", "right", "wrong", "distance"))}
    arrays |= dict.fromkeys(("kind", "feature"), np.zeros(len(table), np.int64))
    return {f"agreement_{n}": value if n == "position" else value.astype(np.int32) for n, value in arrays.items()}
