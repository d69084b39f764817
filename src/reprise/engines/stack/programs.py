"""Functions of tensors of fixed shapes, captured once as CUDA graphs and replayed: a launch a step instead of hundreds.

Tests run the plain calls alone.
"""

import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

Tensors = dict[str, Tensor]
Function = Callable[[Tensors], Tensors]

_MAX_GRAPHS = 64
"""Graphs that are kept: each holds the memory of its step."""
_CAPTURE_LOCK = threading.Lock()
"""Held by all but replays: what another training launches while a graph is captured can spoil the capture."""


class Programs:
    """Call functions of dictionaries of tensors on `device`; `log` takes a line for the log.

    On a CPU a call is a plain call. On a GPU the first call of a shape is plain as well, which also warms the libraries
    up. The second captures the function, and later ones replay its graph. A function may write in place to
    tensors of its own and keeps nothing else from call to call. Once a capture fails all calls are plain.
    """

    def __init__(self, device: torch.device, log: Callable[[str], None]) -> None:
        self.device, self.log = device, log
        self.can_capture = device.type == "cuda"
        self.pool = torch.cuda.graph_pool_handle() if self.can_capture else None
        self.graphs: dict[Hashable, tuple[Any, Tensors, Tensors] | None] = {}  # a graph, its inputs and outputs

    def drop_graphs(self) -> None:
        """Drop all graphs: the tensors that they write to are replaced."""
        self.graphs = {}

    def call(self, name: Hashable, function: Function, inputs: Mapping[str, Tensor]) -> Tensors:
        """Call `function` on the inputs; `name` tells functions apart that take inputs of the same shapes."""
        if not self.can_capture:
            return function(dict(inputs))
        key = name, tuple((k, tuple(v.shape), v.dtype) for k, v in sorted(inputs.items()))
        with nullcontext() if self.graphs.get(key) else _CAPTURE_LOCK:
            if key not in self.graphs:
                if len(self.graphs) < _MAX_GRAPHS:
                    self.graphs[key] = None  # worth a graph if it comes again
                return function(dict(inputs))
            if self.graphs[key] is None and not self._capture(key, function, inputs):
                return function(dict(inputs))
        graph, static, outputs = self.graphs[key]
        for name_, value in static.items():
            value.copy_(inputs[name_])
        graph.replay()
        # Graphs share their memory: the next replay, of whichever, may write over these.
        return {k: v.clone() for k, v in outputs.items()}

    def _capture(self, key: Hashable, function: Function, inputs: Mapping[str, Tensor]) -> bool:
        static = {name: value.clone(memory_format=torch.contiguous_format) for name, value in inputs.items()}
        graph = torch.cuda.CUDAGraph()
        try:
            torch.cuda.synchronize(self.device)
            # On this training's own stream: what a capture keeps for a stream (cuBLAS's workspace) no other then uses.
            stream = torch.cuda.current_stream(self.device)
            with torch.cuda.graph(graph, pool=self.pool, stream=stream, capture_error_mode="thread_local"):
                outputs = function(static)
        except RuntimeError as error:
            if isinstance(error, torch.cuda.OutOfMemoryError):
                raise
            self.can_capture = False
            self.drop_graphs()
            self.log(f"a step could not be captured as a CUDA graph, plain calls from here on: {str(error)[:200]}")
            return False
        self.graphs[key] = graph, static, outputs
        return True
