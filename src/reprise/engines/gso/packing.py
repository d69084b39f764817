"""Lines of different lengths in batches without padding: sorted inside the batch, laid out step by step.

A line of n tokens gives n - 1 predictions, the first from the state that has read its first token. Inside a batch the
lines lie in order of decreasing length. So those which last until a step are the first ones, and only these have a row.
Row r of a step belongs to line r of its batch, and its last state is row r of the step before. Batches hold the same
lines as padded batches would, so the gradients are equal.
"""

from dataclasses import dataclass

import numpy as np

from reprise.data.corpus import Split


@dataclass(frozen=True)
class PackedBatch:
    """The rows of one batch, time-major. `active[t]` of them, at least one, belong to step t; they never grow."""

    inputs: np.ndarray  # (rows,) int32
    targets: np.ndarray  # (rows,) int32
    places: np.ndarray  # (rows,) int64: where in the split's tokens the target stands
    active: np.ndarray  # (steps,) int64

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def starts(self) -> np.ndarray:
        """Return the bounds of rows, (steps + 1,) int64: those of step t are starts[t] .. starts[t + 1] - 1."""
        return np.concatenate([[0], np.cumsum(self.active)])

    @property
    def lengths(self) -> np.ndarray:
        """Return the number of predictions of each line, longest first, (lines,) int64."""
        return np.searchsorted(-self.active, -np.arange(self.active[0]), side="left").astype(np.int64)

    @property
    def filled(self) -> np.ndarray:
        """Return which lines have not ended, (steps, lines) bool; in row-major order these are the rows."""
        return np.arange(self.active[0]) < self.active[:, None]

    def pad_rows(self, rows: np.ndarray) -> np.ndarray:
        """Spread values of rows over (steps, lines), int64; 0 where a line is over."""
        filled = self.filled
        padded = np.zeros(filled.shape, np.int64)
        padded[filled] = rows
        return padded

    def compute_shares(self, reduction: str) -> np.ndarray:
        """Compute what each row of a line counts in the loss that is differentiated, (lines,) float64.

        "mean-tokens": the mean over all rows; "mean-lines": the mean over the lines of each line's mean.
        """
        lengths = self.lengths
        return 1 / (np.full(len(lengths), len(self)) if reduction == "mean-tokens" else len(lengths) * lengths)


def pack_lines(split: Split, lines: np.ndarray, batch_size: int) -> list[PackedBatch]:
    """Pack the lines of `split` with these numbers, in this order, `batch_size` a batch, in the last maybe fewer.

    Lines of fewer than two tokens predict nothing and are left out before batches are made.
    """
    lengths = split.offsets[lines + 1] - split.offsets[lines] - 1
    first, lengths = split.offsets[lines[lengths > 0]], lengths[lengths > 0]
    batch = np.arange(len(lengths)) // batch_size
    order = np.lexsort((-lengths, batch))  # equal lengths keep the order they came in
    first, lengths = first[order], lengths[order]
    heads = np.arange(0, len(lengths), batch_size)  # the longest line of each batch
    steps = np.concatenate([[0], np.cumsum(lengths[heads])])
    # A line counts from the first step of its batch to its own last. Running sums give the active rows.
    starting = np.bincount(steps[batch], minlength=steps[-1] + 1)
    ended = np.bincount(steps[batch] + lengths, minlength=steps[-1] + 1)
    active = np.cumsum(starting - ended)[:-1].astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(active)]).astype(np.int64)
    length_of_batch = np.diff(steps)
    rank = np.arange(starts[-1]) - np.repeat(starts[:-1], active)
    line = rank + np.repeat(np.repeat(heads, length_of_batch), active)
    time = np.arange(steps[-1]) - np.repeat(steps[:-1], length_of_batch)
    read = first[line] + np.repeat(time, active)
    inputs, targets, places = split.tokens[read], split.tokens[read + 1], read + 1
    batches = []
    for begin, end in zip(steps[:-1], steps[1:], strict=True):
        rows = slice(starts[begin], starts[end])
        batches.append(PackedBatch(inputs[rows], targets[rows], places[rows], active[begin:end]))
    return batches


def sort_longest_first(split: Split, lines: np.ndarray) -> np.ndarray:
    """Sort lines, the longest first: batches of nearly equal lengths, where it does not matter who shares a batch."""
    lengths = split.offsets[lines + 1] - split.offsets[lines]
    return lines[np.argsort(-lengths, kind="stable")]
