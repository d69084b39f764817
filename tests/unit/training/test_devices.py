"""What the processor is called."""

import platform
from pathlib import Path

from reprise.training import devices


def test_without_a_name_in_cpuinfo_the_machine_is_named(monkeypatch):
    """As on an Arm machine, whose /proc/cpuinfo has no line "model name"."""
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "processor : 0\n")
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert devices.read_processor_name() == platform.machine() != ""
