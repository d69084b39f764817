"""Signals that stop a training between two pieces of work, not within one."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reprise.errors import STOP_SIGNALS


@contextmanager
def catch_stop_signals() -> Iterator[Callable[[], str]]:
    """Turn SIGTERM, SIGINT and SIGHUP into a flag that is read between two pieces of work; yield its reader."""
    received: list[str] = []
    main = threading.current_thread() is threading.main_thread()
    numbers = [n for n in STOP_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN] if main else []
    old = {n: signal.signal(n, lambda n, _: received.append(signal.Signals(n).name)) for n in numbers}
    try:
        yield lambda: received[0] if received else ""
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
