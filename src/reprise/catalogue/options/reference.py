"""The reference of all options, in Markdown: docs/options.md."""

from collections.abc import Mapping
from typing import Any, get_args

import annotated_types

from reprise.catalogue.models import MODELS
from reprise.catalogue.options import MODEL_OPTIONS, PREPARATION_OPTIONS, PROTOCOL_OPTIONS
from reprise.catalogue.options.base import LARGEST_INT, Options, list_options
from reprise.catalogue.options.displays import DISPLAY_OPTIONS

_HEAD = """# Options

What may be named in a paper's file, and the options of each. `reprise schemas` writes this page from the classes in
`src/reprise/catalogue/options/`. An option without a default has to be stated with its origin. A default is not part of
a configuration's hash.
"""
_SIGNS = {annotated_types.Ge: ("≥", "ge"), annotated_types.Gt: (">", "gt"), annotated_types.Le: ("≤", "le")}
_SIGNS[annotated_types.Lt] = ("<", "lt")


def write_reference() -> str:
    """Write the page."""
    sections = {
        "Models (`model: {name: …}`)": MODEL_OPTIONS,
        "Protocols (`training: {protocol: …}`)": PROTOCOL_OPTIONS,
        "Preparations of datasets (`prepare: …` in config/config.yaml)": PREPARATION_OPTIONS,
        "Figures (`function: …`)": DISPLAY_OPTIONS["figures"],
        "Tables (`function: …`)": DISPLAY_OPTIONS["tables"],
    }
    return "\n".join([_HEAD, *(_make_section(title, options) for title, options in sections.items())])


def _make_section(title: str, options: Mapping[str, type[Options]]) -> str:
    lines = [f"## {title}", ""]
    for kind in dict.fromkeys(options.values()):
        names = [name for name, other in options.items() if other is kind]
        lines += [f"### {', '.join(f'`{name}`' for name in names)}", "", str(kind.__doc__).strip(), ""]
        rows = [_make_row(kind, option, names[0]) for option in list_options(kind)]
        if rows:
            lines += ["| option | values | default | |", "|:--|:--|:--|:--|", *rows, ""]
    return "\n".join(lines)


def _make_row(kind: type[Options], option: str, name: str) -> str:
    field = kind.model_fields[option]
    words = get_args(field.annotation)
    plain = getattr(field.annotation, "__name__", "list")
    values = ", ".join(map(str, words)) if words and all(isinstance(w, str) for w in words) else plain
    bounds = [
        (_SIGNS[type(bound)][0], getattr(bound, _SIGNS[type(bound)][1]))
        for bound in field.metadata
        if type(bound) in _SIGNS
    ]
    values = " ".join([values, *(f"{sign} {bound}" for sign, bound in bounds if abs(bound) != LARGEST_INT)])
    default: Any = "" if field.is_required() else f"`{field.default!r}`"
    text = (field.description or "").replace("|", "\\|").replace("\n", " ")
    if name in MODELS and option in MODELS[name].initialisation and kind is MODEL_OPTIONS.get(name):
        text = f"{text} (initialisation)".strip()
    return f"| `{option}` | {values} | {default} | {text} |"
