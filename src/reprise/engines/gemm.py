"""Matrix products at the full vector width of the CPU.

torch's own products call MKL, which takes its AVX-512 path on Intel's CPUs alone. On others half the width lies idle.
oneDNN, which torch carries as well, asks the CPU what it can do. In products of these models' sizes oneDNN reaches 170
to 215 GFLOP/s on a busy Zen 5 core, and MKL 85 to 98. On an Ice Lake core MKL reaches 91 to 138, oneDNN 60 to 122.
"""

import functools
import platform
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from reprise.processor import read_cpuinfo

Linear = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""x (n, k), w (m, k), bias (m,) or None -> x @ w.T + bias, (n, m). `w` may be a transposed view."""

# Fewer rows are bound by reading w, not by arithmetic, and a call of oneDNN costs more than one of MKL.
_MIN_ROWS = 8


def choose_linear(like: Tensor) -> Linear:
    """Choose the product for tensors like `like`: oneDNN for float32 on AMD's CPUs where torch has it, else torch's.

    The choice depends on the machine and on torch's version alone, never on a measurement. So a resumed training
    continues with the same bits.
    """
    if like.device.type == "cpu" and like.dtype == torch.float32 and not _has_mkl_for_this_cpu() and _has_onednn():
        return _multiply_by_onednn
    return functional.linear


def _multiply_by_onednn(x: Tensor, w: Tensor, bias: Tensor | None = None) -> Tensor:
    if len(x) < _MIN_ROWS:
        return functional.linear(x, w, bias)
    return torch.ops.mkldnn._linear_pointwise(x, w, bias, "none", [], "")


def _has_mkl_for_this_cpu() -> bool:
    """Return whether MKL uses the CPU's whole vectors: it asks who made it."""
    return read_cpuinfo().get("vendor_id") == "GenuineIntel"


@functools.cache
def _has_onednn() -> bool:
    """Return whether torch has the operation, which is private to it, and it computes what is expected."""
    if platform.machine() not in ("x86_64", "AMD64") or not torch.backends.mkldnn.is_available():
        return False
    w, bias = torch.arange(12.0).view(3, 4), torch.arange(4.0)
    x = torch.ones(_MIN_ROWS, 3)
    try:
        return torch.equal(_multiply_by_onednn(x, w.T, bias), x @ w + bias)
    except (AttributeError, RuntimeError):
        return False
