"""Check document 001: the parameters of Table 1 by counting, the cost of a word by counting and by the clock."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from reprise import checks
from reprise.checks import Finding
from reprise.engines import rntn
from reprise.engines.rntn.subsequences import Subsequences
from reprise.models.gated import GRU, LSTM
from reprise.models.mrnn import MRNN
from reprise.models.rntn import RNTN, initialise

PTB, TEXT8 = 10_000, 37_751
_EMBEDDING = 650

# Rows of Table 1: model, and the number of parameters as printed, in millions.
_TABLE_1 = {
    "s-RNN 100, PTB": (lambda: RNTN(PTB, 100), "2"),
    "r-RNTN 100, PTB": (lambda: RNTN(PTB, 100, 100), "3"),
    "RNTN 100, PTB": (lambda: RNTN(PTB, 100, PTB), "103"),
    "m-RNN 100, PTB": (lambda: MRNN(PTB, 100, 100), "3"),
    "s-RNN 150, PTB": (lambda: RNTN(PTB, 150), "3"),
    "r-RNTN 150, PTB": (lambda: RNTN(PTB, 150, 100), "5.3"),
    "s-RNN 100, text8": (lambda: RNTN(TEXT8, 100), "7.6"),
    "r-RNTN 100, text8": (lambda: RNTN(TEXT8, 100, 376), "11.4"),
    "RNTN 100, text8": (lambda: RNTN(TEXT8, 100, TEXT8), "388"),
    "m-RNN 100, text8": (lambda: MRNN(TEXT8, 100, 100), "11.4"),
    "s-RNN 150, text8": (lambda: RNTN(TEXT8, 150), "11.4"),
    "r-RNTN 150, text8": (lambda: RNTN(TEXT8, 150, 376), "19.8"),
    "GRU 244, PTB": (lambda: GRU(PTB, _EMBEDDING, 244), "9.6"),
    "GRU 650, PTB": (lambda: GRU(PTB, _EMBEDDING, 650), "15.5"),
    "r-GRU 244, PTB": (lambda: GRU(PTB, _EMBEDDING, 244, 100), "15.5"),
    "LSTM 254, PTB": (lambda: LSTM(PTB, _EMBEDDING, 254), "10"),
    "LSTM 650, PTB": (lambda: LSTM(PTB, _EMBEDDING, 650), "16.4"),
    "r-LSTM 254, PTB": (lambda: LSTM(PTB, _EMBEDDING, 254, 100), "16.4"),
}
# What Table 1 and section 4 call the same number of parameters.
_EQUAL = [
    ("r-RNTN 100, PTB", "s-RNN 150, PTB"),
    ("r-RNTN 100, PTB", "m-RNN 100, PTB"),
    ("r-RNTN 100, text8", "s-RNN 150, text8"),
    ("r-RNTN 100, text8", "m-RNN 100, text8"),
    ("r-GRU 244, PTB", "GRU 650, PTB"),
    ("r-LSTM 254, PTB", "LSTM 650, PTB"),
]


def count_row_parameters(row: str) -> int:
    """Count the parameters of a row of Table 1 on the module itself, without memory for it."""
    with torch.device("meta"):
        return checks.count_parameters(_TABLE_1[row][0]())


def check_table_1_printed_parameters() -> Iterator[Finding]:
    """Check Table 1's column of parameters: the distance from the printed number, in units of its last digit.

    A distance up to 0.5 is rounding. From 0.5 to 1 the number was cut.
    """
    for row, (_, printed) in _TABLE_1.items():
        digit = 10.0 ** (6 - len(printed.partition(".")[2]))
        count = count_row_parameters(row)
        error = abs(count - float(printed) * 1e6) / digit
        yield Finding(f"{row}: {count:,}, printed as {printed}M", error, 1, unit="of the last digit")


def check_table_1_equal_parameters() -> Iterator[Finding]:
    """Check claim R19: the relative difference of models that the paper calls equal in parameters."""
    counts = {row: count_row_parameters(row) for pair in _EQUAL for row in pair}
    for a, b in _EQUAL:
        yield Finding(f"{a}: {counts[a]:,} against {b}: {counts[b]:,}", abs(counts[a] / counts[b] - 1), 1)


def check_operations_independent_of_matrices() -> Iterator[Finding]:
    """Check claim R18: the operations of matrix products for 20 words do not depend on K. H = 150 needs more."""
    for K in (10, 100, PTB):
        yield Finding(
            f"H = 100, K = {K} against K = 1", abs(_count_operations(100, K) / _count_operations(100, 1) - 1), 1
        )
    ratio = _count_operations(100, 100) / _count_operations(150, 1)
    yield Finding("H = 100, K = 100, as far as it exceeds H = 150, K = 1", max(0.0, ratio - 1), 1)


def _count_operations(hidden: int, matrices: int) -> int:
    with torch.device("meta"):
        model = RNTN(PTB, hidden, matrices)
        x = torch.zeros(20, dtype=torch.int64)
        products = {torch.ops.aten.mv: lambda matrix, vector, **_: 2 * matrix[0] * matrix[1]}
        with FlopCounterMode(display=False, custom_mapping=products) as counter, torch.no_grad():
            model(x, model.initial_state())
    return counter.get_total_flops()


def check_seconds_independent_of_matrices() -> Iterator[Finding]:
    """Check claim R18 by the clock: CPU time of training on text of Zipf's law, the fastest of interleaved rounds.

    The error is by how much a model takes longer than the one it is compared with, as a share.
    """
    models = {(100, 1): None, (100, 100): None, (100, PTB): None, (150, 1): None}
    data = _draw_zipf_text(words=2000)
    for H, K in models:
        model = RNTN(PTB, H, K)
        initialise(model, 0.03, torch.Generator().manual_seed(1))
        models[H, K] = rntn.choose_engine("auto", model)
    best = dict.fromkeys(models, float("inf"))
    for _ in range(9):
        for sizes, engine in models.items():
            best[sizes] = min(best[sizes], _measure_cpu_seconds(engine, data))
    for a, b in (((100, 100), (100, 1)), ((100, PTB), (100, 1)), ((100, 100), (150, 1))):
        yield Finding(f"H = {a[0]}, K = {a[1]} against H = {b[0]}, K = {b[1]}", max(0.0, best[a] / best[b] - 1), 9)


def _draw_zipf_text(words: int) -> Subsequences:
    share = 1 / np.arange(1, PTB + 1)
    text = np.random.default_rng(1).choice(PTB, words + 1, p=share / share.sum()).astype(np.int32)
    offsets = np.arange(0, words + 1, 20, dtype=np.int64)
    return Subsequences(text[:-1], text[1:], offsets, np.zeros(len(offsets) - 1, bool))


def _measure_cpu_seconds(engine: Any, data: Subsequences) -> float:
    start = time.process_time()
    engine.train(data, rntn.SGDSettings(learning_rate=0.01, reduction="sum", dropout=0.5, key=1))
    return time.process_time() - start
