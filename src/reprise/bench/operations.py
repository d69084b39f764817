"""How many operations a program asks for, views left out: on a GPU each is a kernel or a few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode


class Operations(TorchDispatchMode):
    """Counts by name what is computed or copied while it is entered."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, op: OpOverload, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        out = op(*args, **(kwargs or {}))
        if not op.is_view and op.overloadpacket.__name__ not in {"empty", "empty_like", "new_empty", "_unsafe_view"}:
            self.counts[op.overloadpacket.__name__] += 1
        return out


def operations_of(work: Callable[[], None]) -> int:
    """How many operations `work` asks for."""
    with Operations() as found:
        work()
    return sum(found.counts.values())
