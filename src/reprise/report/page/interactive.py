"""Search, sorting and filters of the page's tables: DataTables, in one file, from the package itables."""

from __future__ import annotations

import base64
from importlib.resources import files

from markupsafe import Markup


def styles() -> Markup:
    """The style sheet, for a <style> element."""
    return Markup(files("itables").joinpath("html/dt_bundle.css").read_text(encoding="utf-8"))


def module_url() -> Markup:
    """The script as an address that an ES module can be imported from without a network."""
    code = files("itables").joinpath("html/dt_bundle.js").read_bytes()
    return Markup("data:text/javascript;base64," + base64.b64encode(code).decode())
