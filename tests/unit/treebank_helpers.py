"""Small treebanks in CoNLL-U, which the tests of document 004's data share."""

from pathlib import Path

from reprise.data.corpus import Corpus
from reprise.data.treebank import ud_french
from reprise.data.treebank.conllu_rows import Sentence, read_treebank

FEM, MASC = "Gender=Fem|Number=Sing", "Gender=Masc|Number=Sing"
FEM_PLUR, MASC_PLUR = "Gender=Fem|Number=Plur", "Gender=Masc|Number=Plur"


def text(sentences: list[str]) -> str:
    """CoNLL-U of sentences written "form lemma UPOS features head relation", a word a line; columns may be missing.

    A line "du" with one column is a range over the next two words. Every sentence gets two comments.
    """
    written = []
    for number, sentence in enumerate(sentences, start=1):
        written += [f"# sent_id = {number}", "# text = whatever"]
        i = 0
        for line in sentence.strip().split("\n"):
            columns = line.split()
            if len(columns) == 1:
                written.append("\t".join([f"{i + 1}-{i + 2}", columns[0], *"________"]))
                continue
            i += 1
            form, lemma, upos, features, head, relation = columns + ["_"] * (6 - len(columns))
            written.append("\t".join([str(i), form, lemma, upos, "_", features, head, relation, "_", "_"]))
        written.append("")
    return "".join(f"{line}\n" for line in written)


def write_parts(folder: Path, **parts: list[str]) -> Path:
    """`folder` with the files toy-ud-<part>.conllu."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, sentences in parts.items():
        (folder / f"toy-ud-{part}.conllu").write_text(text(sentences), encoding="utf-8")
    return folder


def read(folder: Path, *sentences: str) -> list[Sentence]:
    return read_treebank(write_parts(folder, one=list(sentences)) / "toy-ud-one.conllu").sentences


LE_CHAT = f"Le le DET {MASC} 2 det\nchat chat NOUN {MASC} 3 nsubj\ndort dormir VERB Number=Sing|VerbForm=Fin 0 root"
DU_LAIT = f"du\nde de ADP\nle le DET {MASC}\nlait lait NOUN {MASC}"
LA_CHATTE = f"La le DET {FEM} 2 det\nchatte chat NOUN {FEM} 0 root"
LA = "la la NOUN Gender=Masc|Number=Sing 0 root"  # the note of music


def toy_corpus(folder: Path, **options: object) -> Corpus:
    """Training: le chat dort, du (de le) lait, la chatte; test: la; dev: le chat dort."""
    raw = write_parts(folder, train=[LE_CHAT, DU_LAIT, LA_CHATTE], test=[LA], dev=[LE_CHAT])
    return ud_french.prepare(raw, {"accounting": "rows", "validation": "last", "validation_sentences": 1, **options})
