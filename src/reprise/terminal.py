"""Print log records and progress bars to stderr while a command works."""

import logging

from rich.console import Console

STDERR = Console(stderr=True)
"""Bars and records share it, so that a record is printed above a bar and not through it."""


def start_logging(level: int) -> None:
    """Print the package's log records from `level` upwards as plain lines; without INFO there are no bars either."""
    STDERR.quiet = level > logging.INFO
    handler: logging.Handler = logging.StreamHandler()
    if STDERR.is_terminal and not STDERR.quiet:
        # Imports Pygments, which a command without a terminal is spared.
        from rich.highlighter import NullHighlighter
        from rich.logging import RichHandler

        plain = dict.fromkeys(("show_time", "show_level", "show_path"), False)
        handler = RichHandler(console=STDERR, highlighter=NullHighlighter(), **plain)
    handler.setFormatter(logging.Formatter("%(message)s"))
    package = logging.getLogger("reprise")
    package.handlers = [handler]
    package.setLevel(level)
