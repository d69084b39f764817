"""The widths of vectors for which the C++ engines are tested."""

import platform

import pytest
from engine_widths import MARCHES, NEEDED

from reprise.engines import build
from reprise.environment import MARCH
from reprise.processor import read_cpuinfo


def forget() -> None:
    """Let engines that are made from now on load the library of the instruction set that is chosen then."""
    for cache in (build.build_library, build.load_functions):
        cache.cache_clear()


@pytest.fixture(scope="module", params=MARCHES)
def march(request):
    """Compile the C++ engines for this processor, for AVX2 and for the baseline of x86-64."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param:
            flags = read_cpuinfo().get("flags", "").split()
            if platform.machine() != "x86_64" or not set(NEEDED[request.param]) <= set(flags):
                pytest.skip(f"this processor cannot run {request.param}")
            patch.setenv(MARCH, request.param)
            forget()
        yield request.param
    forget()
