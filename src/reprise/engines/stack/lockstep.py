"""Members that run side by side in one process, one at a time, and wait for one another's requests.

A protocol is sequential code: it asks its engine for a step and goes on with the answer. Each member runs in a thread
of its own until it asks; when all have asked (or ended) their requests are answered together. A member runs only
while all others wait, so that nothing is ever computed in two threads at once.
"""

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

Answer = Callable[[Sequence[Any]], Sequence[Any]]


class Abandoned(BaseException):
    """Ends a member's thread whose request will not be answered."""


class _Thread(threading.Thread):
    """One member's piece of work."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.work, self.result, self.ended = work, None, False
        self.replies: SimpleQueue[Any] = SimpleQueue()
        self.requests: SimpleQueue[Any] = SimpleQueue()

    def run(self) -> None:
        try:
            if self.replies.get() is not Abandoned:
                self.result = self.work()
        except BaseException as error:  # whatever ends the work is told to whoever waits for it
            self.result = error
        self.ended = True
        self.requests.put(None)

    def ask(self, request: Any) -> Any:
        """Called in the member's thread: waits for the answer to the request."""
        self.requests.put(request)
        if (reply := self.replies.get()) is Abandoned:
            raise Abandoned
        return reply


class Lockstep:
    """Runs pieces of work together; `answer` takes the requests of a round, in the order of the work, and answers each.

    What `answer` raises ends all of them, and is raised by `run`.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.running: _Thread | None = None

    def run(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """What each piece of work returned, or the exception that it raised."""
        threads = [_Thread(work) for work in works]
        for thread in threads:
            thread.start()
        waiting, replies = threads, [None] * len(threads)
        try:
            while waiting:
                requests = [self._resume(thread, reply) for thread, reply in zip(waiting, replies, strict=True)]
                unanswered = [
                    (thread, request) for thread, request in zip(waiting, requests, strict=True) if not thread.ended
                ]
                waiting = [thread for thread, _ in unanswered]
                replies = self.answer([request for _, request in unanswered]) if unanswered else []
        finally:
            for thread in threads:
                if not thread.ended:
                    self._resume(thread, Abandoned)
                thread.join()
        return [thread.result for thread in threads]

    def ask(self, request: Any) -> Any:
        """The answer to a member's request; without a round, it alone is answered."""
        return self.running.ask(request) if self.running else self.answer([request])[0]

    def _resume(self, thread: _Thread, reply: Any) -> Any:
        """Lets a member run until it ends or asks: what it asks for."""
        self.running = thread
        try:
            thread.replies.put(reply)
            return thread.requests.get()
        finally:
            self.running = None
