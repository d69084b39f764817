"""What the typed models of the configuration have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*(@[a-z0-9-]+=[a-z0-9-]+)?$")]
"""An experiment, or a variant of one: "<id>@<assumption>=<alternative>"."""
Origin = Annotated[
    str,
    StringConstraints(
        pattern=r"^(paper .+|author's (code|log).*|assumption [a-z0-9-]+|deviation [a-z0-9-]+|ours: .+)$"
    ),
]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)
