"""Which functions draw figures and write tables, and what each is told: read from their files without importing them.

"<folder>.<function>" in a paper's file is a function of report/papers/<folder>/figures.py or tables.py that has the
decorator `display`. A mistake is thus reported also where nothing that draws is installed.
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

KINDS = ("figures", "tables")
FOLDER = Path(__file__).resolve().parents[1] / "report" / "papers"
_MARKED = re.compile(r"^@display\((.*?)\)\ndef (\w+)\(", re.MULTILINE | re.DOTALL)
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Draws:
    """What a function draws: experiments of these protocols, or `checks`, that have these `settings` (dotted).

    `alone`: it draws exactly one. `of_experiments` is false for the paper's claims, choices and arithmetic. `options`
    holds every option with its default, which gives the type too.
    """

    protocols: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    alone: bool = False
    checks: bool = False
    of_experiments: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)


def display(**stated: Any) -> Callable[[Function], Function]:
    """Marks a function that a paper's file may name; `stated` are fields of `Draws`, as literals."""
    Draws(**stated)
    return lambda function: function


@cache
def functions() -> dict[str, dict[str, Draws]]:
    """By kind and by "<folder>.<function>" what every marked function draws."""
    found: dict[str, dict[str, Draws]] = {kind: {} for kind in KINDS}
    for kind in KINDS:
        for file in sorted(FOLDER.glob(f"*/{kind}.py")):
            # The marks alone: to parse a whole file takes a hundred times as long.
            for stated, name in _MARKED.findall(file.read_text(encoding="utf-8")):
                words = ast.parse(f"display({stated})", mode="eval").body.keywords
                found[kind][f"{file.parent.name}.{name}"] = Draws(**{w.arg: ast.literal_eval(w.value) for w in words})
    return found


def draws(function: str) -> Draws:
    """What "<folder>.<function>" draws, of either kind; anything, where it is not there."""
    return next((there[function] for there in functions().values() if function in there), Draws())
