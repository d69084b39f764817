"""Other programs: what they print."""

import subprocess
from collections.abc import Sequence
from typing import Any


def read_output(command: Sequence[str], seconds: float, **options: Any) -> str | None:
    """Run a program and return what it prints; None where it is missing, fails or takes longer.

    Args:
        command: The program and its arguments.
        seconds: The time that it may take.
        options: `cwd` and `env`, as `subprocess.run` has them.
    """
    try:
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=True,
            **options,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout
