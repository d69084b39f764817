"""What the tests of compiled engines share: the compilers that are here."""

import os
import shutil

import pytest

COMPILERS = [name for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name and shutil.which(name)]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
