"""Check document 003: its n-grams, its perplexity, and clipping.

A wrong formula has two checks, as printed and as corrected.
"""

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import nn

from reprise.checks import Finding, compute_excess
from reprise.data.corpus import Split
from reprise.engines.clipping import clip_gradients
from reprise.models.ngram_counts import HeldOut, NGramCounts, Positions
from reprise.models.word_ngram import Relative
from reprise.units import convert_to_bits, convert_to_perplexity

_CASES = 20
_V, _END = 12, 0


def check_bigram_mass_printed() -> Iterator[Finding]:
    """Check equation 2 as printed: p(w2 | w1) = count(w1, w2) / count(w1) should sum to one over w2.

    The text's last word stands once more in the denominator than in the numerators.
    """
    text = _make_text()
    followed, words = Counter(text[:-1]), Counter(text)  # sum over w2 of count(w1, w2), and count(w1)
    off = {w1: abs(1 - followed[w1] / count) for w1, count in words.items()}
    yield Finding("the text's last word", off.pop(text[-1]), 1, "1")
    yield Finding.from_errors("every other word", off.values(), "1")


def check_bigram_mass_corrected() -> Iterator[Finding]:
    """Check the same with the context counted by what follows it."""
    counts = NGramCounts(_make_positions(1), _V)
    table = counts.table(2)
    sums = table.sum_by_context(table.counts / table.totals[table.contexts])
    yield Finding.from_errors("every word", np.abs(1 - sums), "1")


def check_window_printed() -> Iterator[Finding]:
    """Check equation 1's window of n previous words, called an n-gram model, against frequencies of n-grams."""
    return _check_windows("n-gram", longer=0)


def check_window_corrected() -> Iterator[Finding]:
    """Check a window of n words against relative frequencies of (n + 1)-grams. Equation 2 is the case n = 1."""
    return _check_windows("(n + 1)-gram", longer=1)


def _check_windows(name: str, longer: int) -> Iterator[Finding]:
    text = _make_text()
    for n in (1, 2, 3):
        windows = [tuple(text[i - n : i + 1]) for i in range(n, len(text))]
        counts = Counter(windows) + Counter(window[:-1] for window in windows)
        p = np.array([counts[window] / counts[window[:-1]] for window in windows])
        # The first words are left out on either side: their windows lie outside the text.
        positions = _make_positions(3)
        inside = Positions(positions.words[n:], positions.before[:, n:])
        estimated = Relative(_V, 4).estimate(NGramCounts(inside, _V), HeldOut(inside), n + longer)
        yield Finding.from_errors(f"window of {n} against the {name}", np.abs(estimated - p), "1")


def check_perplexity_printed() -> Iterator[Finding]:
    """Check equations 7 to 9: 2^J with the natural logarithm against the inverse geometric mean of probabilities."""
    yield _check_perplexity("2^J, J in nats", lambda nats: 2.0**nats)


def check_perplexity_corrected() -> Iterator[Finding]:
    """Check e^J with J in nats, and 2^J with J in bits."""
    yield _check_perplexity("e^J, J in nats", convert_to_perplexity)
    yield _check_perplexity("2^J, J in bits", lambda nats: 2.0 ** convert_to_bits(nats))


def _check_perplexity(name: str, compute_perplexity: Callable[[float], float]) -> Finding:
    errors, generator = [], np.random.default_rng(2)
    for _ in range(_CASES):
        p = generator.dirichlet(np.ones(50), size=100)
        y = generator.integers(50, size=100)
        J = float(-np.log(p[np.arange(100), y]).mean())  # (7), (8): y_t is one-hot
        expected = 1 / np.prod(p[np.arange(100), y] ** 0.01)
        errors.append(abs(compute_perplexity(J) / expected - 1))
    return Finding.from_errors(name, errors)


def check_norm_clipping() -> Iterator[Finding]:
    """Check Algorithm 1: it bounds the norm by the threshold, keeps the direction and leaves a short gradient alone."""
    generator, threshold, errors = torch.Generator().manual_seed(6), 1.0, []
    for case in range(_CASES):
        parameters = [nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in ((5, 7), (7,), (3, 2))]
        scale = 10.0 ** (case % 7 - 3)
        for parameter in parameters:
            parameter.grad = scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        g = torch.cat([p.grad.flatten().clone() for p in parameters])
        clip_gradients(parameters, threshold)
        clipped = torch.cat([p.grad.flatten() for p in parameters])
        above = compute_excess(clipped.norm().item(), threshold)
        turned = abs(1 - torch.nn.functional.cosine_similarity(g, clipped, dim=0).item())
        errors.append((above, turned, (g - clipped).abs().max().item() if g.norm() < threshold else 0.0))
    names = "norm above the threshold", "1 - cosine of the angle", "change below the threshold"
    for name, values in zip(names, zip(*errors, strict=True), strict=True):
        yield Finding.from_errors(name, values, "1")


def _make_text() -> list[int]:
    """Return a text whose last word also stands elsewhere in it."""
    text = np.random.default_rng(3).integers(1, 6, 400).tolist()
    return [*text, text[0]]


def _make_positions(contexts: int) -> Positions:
    text = _make_text()
    split = Split(np.array(text, np.int32), np.array([0, len(text)], np.int64))
    return Positions.from_split(split, contexts, _END, "text")
