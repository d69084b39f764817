"""R replicas of one experiment as one training: parameters along a first axis, the readable model under `vmap`.

No gradient is derived here: `torch.func.grad_and_value` differentiates the readable model, `vmap` does it for all
members at once. Every member keeps its own batches, learning rate and schedule; what they share is the step.
"""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap

from reprise.engines.stack.member import Member, Request
from reprise.engines.stack.optimisers import match_axes
from reprise.engines.stack.programs import Programs, Tensors
from reprise.errors import is_memory_error

_LOG = logging.getLogger(__name__)
_CONTROL = ("rate", "active")
"""Inputs of a step that are no part of the batch."""


class OutOfMemory(MemoryError):
    """The members together need more memory than there is; what they computed since the last save is lost."""


class Stack:
    """Train the members together on `device`. Members join before the first step and may leave after any.

    `log` takes a line for the log.
    """

    def __init__(self, device: torch.device, log: Callable[[str], None] | None = None) -> None:
        self.device = device
        self.log = log or _LOG.warning
        self.members: list[Member] = []
        self.parameters: Tensors = {}  # (R, ...); a parameter whose rows are gathered has a spare row at its end
        self.optimiser_states: dict[str, tuple[Tensor, ...]] = {}  # what the optimiser keeps of each
        self.steps = torch.zeros(0, dtype=torch.float64, device=device)  # (R,) updates that each member has made
        self._constants: dict[str, tuple[Any, Tensor]] = {}
        self.programs = Programs(device, self.log)
        # Its own, so that stacks of one process compute side by side.
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def advance(self, trainings: Sequence[Any]) -> list[str | Exception]:
        """Do one piece of work of each training, `run_piece()`, side by side.

        A piece goes on until it needs a batch computed; the requests of all are computed together.

        Returns:
            The note that each piece returned, or the exception that it raised.

        Raises:
            OutOfMemory: The members together need more memory than there is.
        """
        if self.stream is None:
            return self._advance_together(trainings)
        outside = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(outside)
        with torch.cuda.stream(self.stream):
            notes = self._advance_together(trainings)
        outside.wait_stream(self.stream)
        return notes

    def _advance_together(self, trainings: Sequence[Any]) -> list[str | Exception]:
        notes: list[Any] = [None] * len(trainings)
        pending: list[tuple[int, Any, Any]] = [(i, training.run_piece(), None) for i, training in enumerate(trainings)]
        while pending:
            pieces, requests = [], []
            for i, piece, result in pending:
                try:
                    requests.append(piece.send(result))
                    pieces.append((i, piece))
                except StopIteration as end:
                    notes[i] = end.value
                except Exception as error:
                    notes[i] = error
            results = self.compute_requests(requests)
            pending = [(*piece, result) for piece, result in zip(pieces, results, strict=True)]
        return notes

    def remove_all_but(self, trainings: Sequence[Any]) -> None:
        """Remove all members but the `engine` of each of these trainings."""
        engines = [getattr(training, "engine", None) for training in trainings]
        remaining = [engine for engine in engines if isinstance(engine, Member)]
        if finished := [member for member in self.members if member not in remaining]:
            self.remove_members(finished)

    def remove_members(self, members: Sequence[Member]) -> None:
        """Remove members, each with its last parameters; the others are moved together and not changed."""
        for member in members:
            member.parameters, member.optimiser_state = member.export(), member.state_dict()
        remaining = [i for i, member in enumerate(self.members) if member not in members]
        self.members = [self.members[i] for i in remaining]
        if not self.parameters:
            return
        for member in self.members:  # or it would hold on to what is replaced
            member.parameters, member.optimiser_state = {}, None
        slots = torch.tensor(remaining, dtype=torch.int64, device=self.device)
        for name in list(self.parameters):
            self.parameters[name] = self.parameters[name].index_select(0, slots)
            self.optimiser_states[name] = tuple(state.index_select(0, slots) for state in self.optimiser_states[name])
        self.steps = self.steps.index_select(0, slots)
        self.programs.drop_graphs()
        self._distribute_parts()

    def run_step(self, mode: str, inputs: Tensors, rates: Mapping[int, float]) -> Tensors:
        """Make one step ("train") on the batches of the slots that have `rates`, or read them.

        Args:
            mode: "train" or "read".
            inputs: Of all slots, (R, ...) each.
            rates: Learning rates by slot. The parameters of other slots stay as they are.

        Returns:
            The outputs besides the loss, (R, ...) each; those of other slots mean nothing.
        """
        slots = range(len(self.members))
        if mode == "train":
            inputs["rate"] = self._get_constant("rate", tuple(float(rates.get(slot, 0.0)) for slot in slots))
        if len(rates) < len(self.members):
            inputs["active"] = self._get_constant("active", tuple(slot in rates for slot in slots))
        return self.programs.call(mode, self._train if mode == "train" else self._read, inputs)

    def _get_constant(self, name: str, values: tuple[float, ...] | tuple[bool, ...]) -> Tensor:
        """Return the values (R,) on the stack's device, kept from step to step: moving them waits for the GPU."""
        constant = self._constants.get(name)
        if constant is None or constant[0] != values:
            dtype = torch.bool if isinstance(values[0], bool) else torch.float64
            self._constants[name] = constant = values, torch.tensor(values, dtype=dtype, device=self.device)
        return constant[1]

    def compute_requests(self, requests: Sequence[Request]) -> list[Any]:
        """Compute requests, those alike together; return the result of each.

        Raises:
            OutOfMemory: The members together need more memory than there is.
        """
        if not requests:
            return []
        try:
            self._join_parameters()
            groups: dict[Hashable, dict[int, Request]] = {}
            for request in requests:
                kind = request.mode, request.member.make_signature(request.batch)
                groups.setdefault(kind, {})[self.members.index(request.member)] = request
            outputs: dict[int, Any] = {}
            for (mode, _), group in groups.items():
                outputs |= self.members[0].compute_batches(
                    mode, {slot: request.batch for slot, request in group.items()}
                )
        except (RuntimeError, MemoryError) as error:
            if is_memory_error(error):
                raise OutOfMemory(str(error).partition("\n")[0]) from error
            raise
        return [request.finish(outputs[self.members.index(request.member)]) for request in requests]

    @torch.no_grad()
    def _join_parameters(self) -> None:
        """Lay the members' parameters side by side in one tensor each, before the first step."""
        if self.parameters:
            return
        first = self.members[0]
        for name in first.parameters:
            values = [member.parameters[name].to(self.device) for member in self.members]
            if name in first.rows:
                values = [torch.cat([value, torch.zeros_like(value[:1])]) for value in values]
            self.parameters[name] = torch.stack(values)
            self.optimiser_states[name] = first.optimiser.make_state(self.parameters[name], name in first.rows)
        self.steps = torch.zeros(len(self.members), dtype=torch.float64, device=self.device)
        states = [member.optimiser_state for member in self.members]
        self._distribute_parts()
        for member, state in zip(self.members, states, strict=True):
            if state is not None:
                member.optimiser_state["step"].fill_(state["step"])
                for name, values in state["kept"].items():
                    for part, value in zip(member.optimiser_state["kept"][name], values, strict=True):
                        part.copy_(value)

    def _distribute_parts(self) -> None:
        """Give every member its parts of the stack's tensors."""
        for slot, member in enumerate(self.members):
            parts = {name: p[slot] for name, p in self.parameters.items()}
            member.parameters = {name: part[:-1] if name in member.rows else part for name, part in parts.items()}
            states = {name: [state[slot] for state in stacked] for name, stacked in self.optimiser_states.items()}
            member.optimiser_state = {"step": self.steps[slot], "kept": states}

    def _read(self, inputs: Tensors) -> Tensors:
        batch = {name: value for name, value in inputs.items() if name not in _CONTROL}
        with torch.no_grad():
            return vmap(self.members[0].compute_loss)(self._gather_parameters(batch), batch)[1]

    def _train(self, inputs: Tensors) -> Tensors:
        """Make one update in place of the active slots, by default of all."""
        batch = {name: value for name, value in inputs.items() if name not in _CONTROL}
        active, rate = inputs.get("active"), inputs["rate"]
        before, first = self._gather_parameters(batch), self.members[0]
        gradients, (_, outputs) = vmap(grad_and_value(first.compute_loss, has_aux=True))(before, batch)
        with torch.no_grad():
            if first.clip is not None:
                factors = first.clip.compute_factors(list(gradients.values()))
                gradients = {name: g * match_axes(factors, g) for name, g in gradients.items()}
            self.steps.add_(1 if active is None else active.to(self.steps.dtype))
            for name, gathered in before.items():
                p, rows, g = gathered, self._find_rows(name, batch), gradients[name]
                tables = self.parameters[name], *self.optimiser_states[name]
                if rows is not None and not first.optimiser.by_rows:
                    g = put_rows(torch.zeros_like(tables[0]), rows, g)
                    p, rows = tables[0], None
                old = (p, *(k if rows is None else take_rows(k, rows) for k in tables[1:]))
                new, new_state = first.optimiser.update(p, g, old[1:], rate, self.steps)
                for table, old_part, new_part in zip(tables, old, (new, *new_state), strict=True):
                    after = new_part
                    if active is not None:
                        after = torch.where(active.view(-1, *[1] * (after.dim() - 1)), new_part, old_part)
                    if rows is None:
                        table.copy_(after)
                    else:
                        put_rows(table, rows, after)
        return outputs

    def _gather_parameters(self, batch: Tensors) -> Tensors:
        """Gather the parameters, of those with rows the ones that the batch lists, (R, N, ...)."""
        rows = {name: self._find_rows(name, batch) for name in self.parameters}
        return {n: p if rows[n] is None else take_rows(p, rows[n]) for n, p in self.parameters.items()}

    def _find_rows(self, name: str, batch: Tensors) -> Tensor | None:
        """Return the rows of a parameter that the batch lists, (R, N), the spare one for -1; None: all of it."""
        if name not in self.members[0].rows:
            return None
        rows = batch[self.members[0].rows[name]]
        return torch.where(rows < 0, self.parameters[name].shape[1] - 1, rows)


def take_rows(table: Tensor, rows: Tensor) -> Tensor:
    """Take rows (R, N) of each member's part of a table (R, V, ...): (R, N, ...)."""
    return table.flatten(0, 1).index_select(0, _flatten_rows(table, rows)).unflatten(0, rows.shape)


def put_rows(table: Tensor, rows: Tensor, values: Tensor) -> Tensor:
    """Write rows of each member's part of a table; only the spare one occurs twice, and it stays as it is."""
    table.flatten(0, 1).index_copy_(0, _flatten_rows(table, rows), values.flatten(0, 1))
    return table


def _flatten_rows(table: Tensor, rows: Tensor) -> Tensor:
    R, V = table.shape[:2]
    return (torch.arange(0, R * V, V, device=rows.device)[:, None] + rows).flatten()
