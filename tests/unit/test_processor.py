"""What the processor is called."""

import platform

from reprise import processor


def test_without_a_name_in_cpuinfo_the_machine_is_named(monkeypatch, tmp_path):
    """As on an Arm machine, whose /proc/cpuinfo has no line "model name"."""
    path = tmp_path / "cpuinfo"
    path.write_text("processor : 0\n", encoding="utf-8")
    monkeypatch.setattr(processor, "CPUINFO", path)
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert processor.read_processor_name() == platform.machine() != ""


def test_the_first_core_is_described(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text("model name : One: fast\nflags :\n\nmodel name : Other\n", encoding="utf-8")
    assert processor.read_cpuinfo(path) == {"model name": "One: fast", "flags": ""}
    assert processor.read_cpuinfo(tmp_path / "none") == {}
