"""Programs over fixed buffers: on a GPU each is captured once as a CUDA graph and replayed, on a CPU it is called.

A program may not look at a number on the device, allocate by one, or wait for it: then what is replayed is what was
called. What differs from step to step (places in a text, learning rates, keys) lies in tensors that it reads.
"""

from __future__ import annotations

import gc
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import torch

from reprise.errors import beyond_memory
from reprise.kernels.stacked_streams import lend_streams

FORGETS = torch.__version__ < (2, 14)
"""Whether torch gives the pool of a capture that failed never back; later it does so with the graph."""


class Programs:
    """The programs of one stack, on a stream of their own, so that several stacks share a GPU.

    `capture` False calls them on a GPU as well. All that touches the stack's tensors belongs into `programs.stream()`.
    """

    def __init__(self, device: torch.device, capture: bool = True) -> None:
        self.on_gpu = device.type == "cuda"
        self.capture = capture and self.on_gpu
        self._stream = self._side = None
        if self.on_gpu:
            (self._stream, self._side), give_back = lend_streams(device)
            weakref.finalize(self, give_back).atexit = False
        self._graphs: dict[Hashable, torch.cuda.CUDAGraph | None] = {}
        self._pool = None
        self._apart = False  # whether something happens beside
        self._marks: deque[torch.cuda.Event] = deque()
        self.trouble = ""  # why programs are called that should have been captured

    def stream(self) -> AbstractContextManager:
        """Makes the stack's stream the current one."""
        return torch.cuda.stream(self._stream) if self.on_gpu else nullcontext()

    def run(self, name: Hashable, program: Callable[..., None], *arguments: object) -> None:
        """Runs `program(*arguments)`; calls of one `name` have to be of the same program and arguments."""
        if not self.capture:
            program(*arguments)
        elif name not in self._graphs:
            # The first time loads kernels and sets up libraries, which cannot be captured. It counts like any other.
            program(*arguments)
            self._graphs[name] = None
        elif self._graphs[name] is not None:
            self._graphs[name].replay()
        else:
            self._capture_and_replay(name, program, arguments)

    @contextmanager
    def beside(self) -> Iterator[None]:
        """What a program does in here may happen at the same time as what it does after it, until `join`."""
        if self._side is None:
            yield
            return
        self._apart = True
        self._side.wait_stream(self._stream)
        with torch.cuda.stream(self._side):
            yield

    def join(self) -> None:
        """What a program does from here on comes after what it did beside."""
        if self._side is not None:
            self._stream.wait_stream(self._side)
            self._apart = False

    @property
    def captured(self) -> int:
        """How many programs have become graphs."""
        return sum(graph is not None for graph in self._graphs.values())

    def mark(self) -> None:
        """Remembers the place in the stream, for `pending`."""
        if self._stream is not None:
            event = torch.cuda.Event()
            event.record(self._stream)
            self._marks.append(event)

    @property
    def pending(self) -> int:
        """Marks that the device has not come to yet; does not wait."""
        while self._marks and self._marks[0].query():
            self._marks.popleft()
        return len(self._marks)

    def _capture_and_replay(self, name: Hashable, program: Callable[..., None], arguments: tuple[object, ...]) -> None:
        try:
            self._graphs[name] = self._graph_of(program, arguments)
        except RuntimeError as error:
            self._drop_graphs()
            if out_of_memory(error):
                raise
            # Nothing has run yet: called, it is slower and does the same.
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.trouble, self.capture = f"program {_in_words(name)}: {why}", False
            program(*arguments)
        else:
            self._graphs[name].replay()

    def _graph_of(self, program: Callable[..., None], arguments: tuple[object, ...]) -> torch.cuda.CUDAGraph:
        try:
            return self._captured(program, arguments)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            self._drop_graphs()
        # During a capture torch keeps what lies unused in its cache: given back before, there may be room.
        torch.cuda.empty_cache()
        return self._captured(program, arguments)

    def _drop_graphs(self) -> None:
        """After a capture that failed: every program is captured anew when it comes up next.

        With the failed graph torch (2.12 and later) gives back cuBLAS's scratch memory on the streams that it was
        captured on, where the stack's other graphs would go on writing.
        """
        if any(graph is not None for graph in self._graphs.values()):
            with suppress(RuntimeError):  # a device that has given up runs none of them any more
                torch.cuda.synchronize()
            self._graphs = dict.fromkeys(self._graphs)
        self._pool = None  # a pool that has lost its graphs cannot be given another one

    def _captured(self, program: Callable[..., None], arguments: tuple[object, ...]) -> torch.cuda.CUDAGraph:
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # Another stack's graph that is collected meanwhile would be destroyed in the middle of a capture.
        collects, begun = gc.isenabled(), False
        gc.disable()
        try:
            # Other threads (a display, a lock) may use the driver meanwhile: only this one's mistakes are errors.
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            begun = True
            try:
                program(*arguments)
            except BaseException:
                # The capture is lost as well: what it says of that would hide why.
                if self._apart:  # a capture cannot end before its streams have come together
                    with suppress(RuntimeError):
                        self.join()
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        except BaseException:
            self._release_pool(graph, begun)
            raise
        finally:
            if collects:
                gc.enable()
        return graph

    def _release_pool(self, graph: torch.cuda.CUDAGraph, begun: bool) -> None:
        """After a capture that failed: else torch takes it to go on, or keeps what was allocated in it for ever.

        A pool that has lost its only graph cannot be given another one: the next capture begins a new pool.
        """
        device, pool, self._pool = torch.cuda.current_device(), self._pool, None
        if not FORGETS or _came_to_its_end(graph):
            return  # it goes with the graph
        try:
            torch._C._cuda_endAllocateToPool(device, pool)
        except RuntimeError:  # torch 2.13 has done so itself, and no more; or the capture did not even begin
            if not begun:
                return
        with suppress(RuntimeError):
            torch._C._cuda_releasePool(device, pool)


def _came_to_its_end(graph: torch.cuda.CUDAGraph) -> bool:
    """Whether the driver ended the capture, so that torch gives its pool back with the graph."""
    try:
        graph.pool()
    except RuntimeError:
        return False
    return True


def _in_words(name: Hashable) -> str:
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def out_of_memory(error: BaseException) -> bool:
    """Whether device or host has no room; during a capture the driver says so in words alone, and cuBLAS in its own."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    words = str(error).lower()
    told = "out of memory" in words or "cublas_status_alloc_failed" in words
    return isinstance(error, RuntimeError) and (told or beyond_memory(error))


def shaped(buffer: torch.Tensor, *shape: int) -> torch.Tensor:
    """The beginning of a flat buffer, seen in a shape."""
    count = 1
    for size in shape:
        count *= size
    return buffer[:count].view(shape)
