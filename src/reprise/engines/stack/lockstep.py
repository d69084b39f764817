"""Members that run side by side in one process, one at a time, and wait for one another's requests.

A protocol is sequential code: it asks its engine for a step and goes on with the answer. Each member runs in a thread
of its own until it asks; when all have asked (or ended) their requests are answered together. A member runs only
while all others wait, so that nothing is ever computed in two threads at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

Answer = Callable[[Sequence[Any]], Sequence[Any]]


class Abandoned(BaseException):
    """Ends a member's thread whose request will not be answered."""


class _Thread:
    """One member's piece of work."""

    def __init__(self, work: Callable[[], Any], name: str) -> None:
        self.work = work
        self.request: Any = None
        self.reply: Any = None
        self.result: Any = None
        self.ended = False
        self._go, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def _run(self) -> None:
        self._go.acquire()
        try:
            if self.reply is not Abandoned:
                self.result = self.work()
        except BaseException as error:  # whatever ends the work is told to whoever waits for it
            self.result = error
        self.ended = True
        self._paused.release()

    def resume(self, reply: Any = None) -> None:
        """Lets the member run until it asks or ends."""
        self.reply = reply
        self._go.release()
        self._paused.acquire()

    def ask(self, request: Any) -> Any:
        """Called in the member's thread: waits for the answer to the request."""
        self.request = request
        self._paused.release()
        self._go.acquire()
        if self.reply is Abandoned:
            raise Abandoned
        return self.reply


class Lockstep:
    """Runs pieces of work together; `answer` takes the requests of a round, in the order of the work, and answers each.

    What `answer` raises ends all of them, and is raised by `run`.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.running: _Thread | None = None

    def run(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """What each piece of work returned, or the exception that it raised."""
        threads = [_Thread(work, f"member {i}") for i, work in enumerate(works)]
        for thread in threads:
            thread.thread.start()
        waiting, replies = threads, [None] * len(threads)
        try:
            while waiting:
                for thread, reply in zip(waiting, replies, strict=True):
                    self._resume(thread, reply)
                waiting = [thread for thread in threads if not thread.ended]
                replies = self.answer([thread.request for thread in waiting]) if waiting else []
        finally:
            for thread in threads:
                if not thread.ended:
                    self._resume(thread, Abandoned)
                thread.thread.join()
        return [thread.result for thread in threads]

    def ask(self, request: Any) -> Any:
        """The answer to a member's request; without a round, it alone is answered."""
        if self.running is None:
            return self.answer([request])[0]
        return self.running.ask(request)

    def _resume(self, thread: _Thread, reply: Any) -> None:
        self.running = thread
        try:
            thread.resume(reply)
        finally:
            self.running = None
