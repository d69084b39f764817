"""French of the Universal Dependencies with the part of speech (UPOS) of every word, for document 003, section 2.5.

The notes name no data for their taggers. Document 004's partition of the treebank is taken. The last sentences of the
training part are held out for validation. The treebank's test and development parts together are the test text.
"""

from pathlib import Path

from reprise.data.corpus import UNKNOWN, Corpus
from reprise.data.treebank.conllu_rows import read_treebank
from reprise.data.treebank.tagged import make_tagged_corpus
from reprise.data.treebank.ud_french import find_treebank_file
from reprise.errors import UserError
from reprise.options import Values

LABEL = "AUX"
"""The part of speech whose presence is a sentence's label: compound tenses, passives and, since release 2, copulas."""


def prepare(raw: Path, options: Values) -> Corpus:
    """Return the corpus of `raw/*-ud-{train,dev,test}.conllu`, each plain or `.gz`, as `make_tagged_corpus` keeps it.

    Words are those that bear a part of speech ("de" and "le", not the range "du"), in lower case. Options: words that
    training has fewer than `minimum_count` times become `<unk>`; the last `validation_sentences` of the training part
    are the split valid. Splits train, valid, test.

    Raises:
        UserError: Options make no sense, or a file is missing, ambiguous or no CoNLL-U.
    """
    training, test, dev = (
        read_treebank(find_treebank_file(raw, part), UNKNOWN).sentences for part in ("train", "test", "dev")
    )
    held_out = options["validation_sentences"]
    if held_out >= len(training):
        raise UserError(
            f"dataset {raw.name}: option validation_sentences: {held_out} leave nothing of {len(training)} "
            "training sentences"
        )
    parts = {"train": training[:-held_out], "valid": training[-held_out:], "test": [*test, *dev]}
    tagged = {
        split: [[(word.form.lower(), word.upos) for word in sentence.words] for sentence in sentences]
        for split, sentences in parts.items()
    }
    return make_tagged_corpus("ud_tags", tagged, options["minimum_count"], LABEL, {})
