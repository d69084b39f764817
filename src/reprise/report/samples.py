"""The texts that models wrote, as `reprise collect` gathered them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reprise.errors import UserError
from reprise.report.context import Context


def samples(context: Context, experiment: str) -> list[dict[str, Any]]:
    """Those of an experiment or variant, by replica; empty where there is none.

    Errors: `UserError` where samples.jsonl is damaged.
    """
    path = _file(context)
    if not path.is_file():
        return []
    base, _, variant = experiment.partition("@")
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found = [s for s in lines if (s["paper"], s["experiment"], s["variant"]) == (context.paper_id, base, variant)]
        return sorted(found, key=lambda sample: sample["replica"])
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise UserError(f"{path}: {error}; run `python -m reprise collect --tier {context.tier}`") from None


def _file(context: Context) -> Path:
    # config/reference and results/<tier> lie in the same project
    return context.reference.parents[1] / "results" / context.tier / "samples.jsonl"
