"""The types that the models of the configuration share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

ID = r"^[a-z0-9][a-z0-9-]*$"
NAME = r"^[a-z0-9][a-z0-9-]*(@[a-z0-9-]+=[a-z0-9-]+)?$"
ORIGIN = r"^(paper .+|author's (code|log).*|assumption [a-z0-9-]+|deviation [a-z0-9-]+|ours: .+)$"
HEX = r"^[0-9a-f]{40}([0-9a-f]{24})?$"
PLAIN = r"^[A-Za-z0-9_][A-Za-z0-9._+-]*$"
URL = r"^https?://"

Id = Annotated[str, StringConstraints(pattern=ID)]
Name = Annotated[str, StringConstraints(pattern=NAME)]
"""An experiment, or a variant of one: "<id>@<assumption>=<alternative>"."""
Origin = Annotated[str, StringConstraints(pattern=ORIGIN)]
Hex = Annotated[str, StringConstraints(pattern=HEX)]
Plain = Annotated[str, StringConstraints(pattern=PLAIN)]
"""The name of a file, which leads out of no folder."""
Url = Annotated[str, StringConstraints(pattern=URL)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, allow_inf_nan=False)
