"""A user's own Treebank-3 (LDC99T42) in place of Mikolov's text: the raw Wall Street Journal that document 000 reads.

The folder holds `raw/wsj/NN/wsj_NNNN`. If the key `ldc_wsj` names it, it replaces the raw files of the dataset that
`wsj_characters` prepares. Its checksum is part of the configuration hash.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

from reprise.config.datasets import NamedDataset
from reprise.errors import UserError
from reprise.files import compute_sha256

REPLACED_PREPARATION = "wsj_characters"
"""The preparation whose raw files the folder replaces."""
STORIES = "raw/wsj"


class FolderDataset(NamedDataset):
    """A dataset whose raw text lies in a folder of the user's; nothing of it is downloaded or copied."""

    folder: Path

    def get_raw_folder(self, raw_root: Path) -> Path:
        """Return the folder of the stories."""
        return self.folder

    def list_checksums(self) -> dict[str, str]:
        """Return the digest of the folder."""
        return {"ldc_wsj": f"sha256:{compute_folder_digest(self.folder)}"}


def replace_files(dataset: NamedDataset, folder: Path) -> FolderDataset:
    """Return `dataset` with the text in `folder` for its raw files, without the facts expected of the other text.

    Raises:
        UserError: The folder is missing or holds no stories.
    """
    if not list_stories(folder):
        raise UserError(
            f"config/config.yaml: key ldc_wsj (or REPRISE_LDC_WSJ): no file {folder / STORIES}/NN/wsj_NNNN; name the"
            " folder of LDC99T42, or write null (and unset the variable) for Mikolov's text"
        )
    return FolderDataset(**{**dict(dataset), "files": [], "expected": {}, "folder": folder})


def list_stories(folder: Path) -> list[Path]:
    """List the files of all stories, sorted by name."""
    return sorted(p for p in folder.glob(f"{STORIES}/[0-9][0-9]/wsj_[0-9][0-9][0-9][0-9]") if p.is_file())


@lru_cache(maxsize=4)
def compute_folder_digest(folder: Path) -> str:
    """Compute SHA-256 over the lines "<section>/<story> <SHA-256 of its content>", sorted by name.

    Where the folder lies does not matter. Computed once a process.
    """
    state = hashlib.sha256()
    for path in list_stories(folder):
        content = compute_sha256(path)
        state.update(f"{path.parent.name}/{path.name} {content}\n".encode())
    return state.hexdigest()
