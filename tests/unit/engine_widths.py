"""Instruction sets for which the C++ engines are tested."""

import pytest

NEEDED = {"": (), "x86-64-v3": ("avx2", "fma", "bmi2"), "x86-64": ()}
"""What -march may be, and the flags that Linux shows of a processor that can run it; "" is the one at hand."""
MARCHES = [pytest.param(march, id=march or "native", marks=pytest.mark.slow if march else ()) for march in NEEDED]
