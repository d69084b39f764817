"""Check sections 3 and 4 of document 004: unseen words, in a finite vocabulary and in an unbounded one.

A few sentences are learnt. "the cost was N euros" has the numerals 9, 13 and 21. "N people came" has 15, and "we
visited P" has two cities. The numeral 37 and the city Grenoble are in none of them. The model knows the class of these
alone: they have no feature of identity.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch

from reprise.checks import Finding
from reprise.engines.loglinear import ReferenceEngine, RMSPropSettings
from reprise.models.lexicon import BooleanCSR, Lexicon
from reprise.models.loglinear import LogLinearRNN, initialise
from reprise.sums import add_in_order

SENTENCES = [f"the cost was {n} euros ." for n in (9, 13, 21)]
SENTENCES += [f"we visited {city} ." for city in ("Paris", "Lyon")] + ["15 people came ."]
SEEN = sorted({word for sentence in SENTENCES for word in sentence.split()})
NUMERAL, CITY = "37", "Grenoble"
TYPES = [*SEEN, NUMERAL, CITY]
TAGS = ["number", "location", "other"]
WINDOW, STEPS, RATE = 3, 120, 0.02
SHRINK = 0.05
"""b of a numeral of n digits is SHRINK**n. There are 9 * 10**(n-1) of them, and 10 * SHRINK < 1: a finite mass."""


def check_unseen_numerals() -> Iterator[Finding]:
    """Compare 37 with Grenoble after "the cost was" and ". we visited"; check the mass of all numerals."""
    uniform = _make_learnt_model(np.zeros(len(TYPES)))
    background, others = _make_finite_background()
    unbounded = _make_learnt_model(background)
    # The type 37 stands for all numerals without an identity. Its own share of their mass is b(37) / B.
    own = SHRINK ** len(NUMERAL) / others
    for name, model, share in (("uniform b", uniform, 1.0), ("b over all numerals", unbounded, own)):
        for words, unlikely, likely in (("the cost was", CITY, NUMERAL), (". we visited", NUMERAL, CITY)):
            p = {NUMERAL: _compute_p(model, words, NUMERAL) * share, CITY: _compute_p(model, words, CITY)}
            text = f"p({unlikely}) / p({likely}) after '{words}', {name}"
            yield Finding(text, p[unlikely] / p[likely], 1, unit="1")
    digits = 60
    counted = add_in_order(9 * 10 ** (n - 1) * SHRINK**n for n in range(1, digits + 1))
    counted -= add_in_order(SHRINK ** len(word) for word in SEEN if word.isdigit())
    yield Finding(f"mass of the class: closed form, and all numerals of {digits} digits", abs(others / counted - 1), 1)


def _make_finite_background() -> tuple[np.ndarray, float]:
    """Return log b of the types, and the mass B of all numerals without an identity. The numeral 37 is one of these.

    B is sum_n 9 * 10**(n-1) * SHRINK**n = 9 SHRINK / (1 - 10 SHRINK), less the numerals with an identity. All other
    words together have the mass 1. exp(a . phi) is the same throughout the class, so that its part of Z is B exp(a).
    """
    words = [word for word in TYPES if not word.isdigit()]
    others = 9 * SHRINK / (1 - 10 * SHRINK) - add_in_order(SHRINK ** len(word) for word in SEEN if word.isdigit())
    b = {word: SHRINK ** len(word) if word.isdigit() else 1 / len(words) for word in TYPES} | {NUMERAL: others}
    return np.array([math.log(b[word]) for word in TYPES]), others


def _make_learnt_model(log_b: np.ndarray) -> LogLinearRNN:
    """Train an LL-RNN on the sentences: psi one-hot as in section 3, phi of identities and classes."""
    tag = {word: "number" for word in TYPES if word.isdigit()} | dict.fromkeys(("Paris", "Lyon", CITY), "location")
    tags = BooleanCSR.from_dense(np.array([[tag.get(word, "other") == name for name in TAGS] for word in TYPES]))
    # Counts say which types have an identity: those that were seen.
    counts = np.array([1 + (word in SEEN) for word in TYPES])
    sources = ("corpus", "train")
    lexicon = Lexicon(TYPES, TAGS, dict.fromkeys(sources, counts), dict.fromkeys(sources, tags))
    sizes = {"top_types": len(SEEN), "embedding_size": 12, "hidden_size": 16, "layers": 1}
    kinds = {"input": "one-hot", "output": "log-linear", "background": "none", "features_from": "corpus"}
    model = LogLinearRNN(lexicon, **kinds, **sizes, word_identity=True)
    initialise(model, torch.Generator().manual_seed(1))
    model.double().log_b = torch.from_numpy(log_b)
    engine = ReferenceEngine(model)
    text = " ".join(SENTENCES * 2).split()
    windows = torch.tensor([[TYPES.index(w) for w in text[i : i + WINDOW + 1]] for i in range(len(text) - WINDOW)]).T
    settings = RMSPropSettings(learning_rate=RATE, rho=0.9, epsilon=1e-8)
    for _ in range(STEPS):
        engine.train(windows[:-1], windows[-1], settings)
    return engine.model


@torch.no_grad()
def _compute_p(model: LogLinearRNN, words: str, word: str) -> float:
    window = torch.tensor([TYPES.index(w) for w in words.split()])[:, None]
    return float(model(window)[0, TYPES.index(word)].exp())
