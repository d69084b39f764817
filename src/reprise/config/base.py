"""The types that the models of the configuration share."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints

FORMS: dict[str, str] = {}
"""What is said of a text that has not the form of a pattern."""


def _make_text_type(pattern: str, remedy: str) -> Any:
    FORMS[pattern] = remedy
    return Annotated[str, StringConstraints(pattern=pattern)]


PLAIN = r"^[A-Za-z0-9_][A-Za-z0-9._+-]*$"

Id = _make_text_type(r"^[a-z0-9][a-z0-9-]{0,99}$", "is no name; write small letters, digits and hyphens, 100 at most")
DatasetId = _make_text_type(
    r"^[a-z0-9][a-z0-9.-]{0,99}$", "is no name; write small letters, digits, dots and hyphens, 100 at most"
)
"""Releases have dots in their numbers."""
Document = _make_text_type(r"^[0-9]{3}$", "is no document's number; write three digits in quotes")
Name = _make_text_type(
    r"^[a-z0-9][a-z0-9-]*(@[a-z0-9-]+=[a-z0-9-]+)?$",
    "is no name of an experiment; write <experiment>, or <experiment>@<assumption>=<alternative>",
)
Origin = _make_text_type(
    r"^(paper .+|author's (code|log).*|assumption [a-z0-9-]+|deviation [a-z0-9-]+|ours: .+)$",
    "is no origin; begin with 'paper …', 'author's code', 'author's log', 'assumption <id>', 'deviation <id>' "
    "or 'ours: …'",
)
Hex = _make_text_type(
    r"^[0-9a-f]{40}([0-9a-f]{24})?$",
    "is no checksum; write 64 hexadecimal digits for sha256, 40 for sha1 and git-blob, in small letters",
)
Plain = _make_text_type(PLAIN, "is not a file name; write letters, digits, '.', '_', '+' and '-'")
"""The name of a file, which leads out of no folder."""
ImportPath = _make_text_type(
    r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$", "is no import path; write <package>.<module>:<name>"
)
Url = _make_text_type(r"^https?://", "is no address; begin with https://")


AnyText = Annotated[str, StringConstraints(min_length=0)]
"""A text that may be empty."""


class Strict(BaseModel):
    """What takes no other key and no other type than it states, and no empty text but an `AnyText` one."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, populate_by_name=True, allow_inf_nan=False, str_min_length=1
    )
