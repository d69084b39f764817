"""Check document 004: the softmax as a special case, the gradient and its signs, the background, and parameter counts.

The example of section 3 has a module of its own (`loglinear_numerals`).
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from reprise.checks import Finding, compute_relative_error, count_parameters
from reprise.data.synthetic.markov import make_chain
from reprise.models.lexicon import BooleanCSR, Lexicon
from reprise.models.loglinear import LogLinearRNN, initialise, run_lstm

V, TAGS, M = 37, 6, 5
_CASES = 10


def check_softmax_is_log_linear() -> Iterator[Finding]:
    """Check section 2.4: one-hot psi and phi with b = 1 give the RNN of (1)-(4). Then (18) is (20) and (21)."""
    errors = []
    for seed in range(_CASES):
        model, words, targets = _draw_model(seed, input="one-hot", output="softmax", background="none")
        a = _compute_adaptors(model, words)
        loss = -model.compute_log_p(a).gather(1, targets).sum()
        (gradient,) = torch.autograd.grad(loss, [a])
        x = model.E[words]  # (1)-(3), written without features
        zeros = torch.zeros(words.shape[1], model.H, dtype=x.dtype)
        for layer in (1, 2):
            x, _ = run_lstm(x, zeros, zeros, *model.get_layer(layer))
        p = torch.softmax(x[-1] @ model.W_a.t() + model.b_a, 1).detach()
        minus_one = -torch.ones_like(p)
        errors.append(
            (
                compute_relative_error(model(words).exp(), p),
                compute_relative_error(gradient, p.scatter_add(1, targets, minus_one)),
            )
        )
    names = "p of (13) against the softmax of (3)", "gradient (18) against (20) and (21)"
    for name, values in zip(names, zip(*errors, strict=True), strict=True):
        yield Finding.from_errors(name, values)


def check_expected_minus_observed() -> Iterator[Finding]:
    """Check (16): the loss's gradient by a is the expected minus the observed features. Check also its signs.

    Section 3: the gradient of log L is positive where the observed type has a feature and negative elsewhere. That
    holds for types with a feature of their own and for the others.
    """
    errors, wrong = [], []
    for seed in range(_CASES):
        model, words, targets = _draw_model(seed)
        a = _compute_adaptors(model, words)
        log_p = model.compute_log_p(a)
        (gradient,) = torch.autograd.grad(-log_p.gather(1, targets).sum(), [a])
        phi = model.phi.to_dense()
        expected = log_p.exp() @ phi - phi[targets[:, 0]]
        errors.append(compute_relative_error(gradient, expected.detach()))
        wrong.append((-gradient > 0) != (phi[targets[:, 0]] > 0))
    wrong = torch.stack(wrong)
    yield Finding.from_errors("gradient (16) against autograd", errors)
    yield Finding("signs of section 3 that differ", float(wrong.sum()), wrong.numel(), "signs")


def check_background_alone() -> Iterator[Finding]:
    """Check sections 2.2 and 4: with a = 0 the model is its background, unconditional or the true process itself.

    The true process b(K; x) is a Markov chain here. Under it the expected gradient by a is 0 at a = 0: there is nothing
    to adapt.
    """
    model, words, _ = _draw_model(0)
    with torch.no_grad():
        model.W_a.zero_()
        model.b_a.zero_()
    unigram = model.log_b.exp()[None].expand(words.shape[1], -1)
    yield Finding(
        "p at a = 0 against the unigram b", compute_relative_error(model(words).exp().detach(), unigram), words.shape[1]
    )
    chain = make_chain(V, 1)
    process = torch.from_numpy(chain.get_transitions())  # (V, V)
    model.log_b = process.log()
    a = torch.zeros(V, model.phi_rows.columns, dtype=torch.float64, requires_grad=True)
    log_p = model.compute_log_p(a)
    yield Finding("p at a = 0 against the true process b", compute_relative_error(log_p.exp().detach(), process), V)
    (gradient,) = torch.autograd.grad(-(process * log_p.masked_fill(process == 0, 0)).sum(), [a])
    yield Finding("expected gradient by a at a = 0", float(gradient.abs().max()), gradient.numel(), unit="1")


PARAMETERS = {
    0: 23_055_246,  # the softmax baseline
    10_000: 6_207_813,
    5_000: 3_642_813,
    3_000: 2_616_813,
    2_500: 2_360_313,
    2_000: 2_103_813,
    1_000: 1_590_813,
    500: 1_334_313,
    10: 1_082_943,
}
"""Parameters of the models of Table 4 by M, worked out by hand for the paper's types and tags."""
PAPER_TYPES, PAPER_TAGS = 42_894, 52
"""Tables 2 and 3. They go into the counts: what a corpus has is for the experiment `corpus` to say."""


def check_log_linear_parameters() -> Iterator[Finding]:
    """Check section 5: count parameters and features of real models for the paper's types and tags."""
    lexicon = Lexicon.from_sizes(PAPER_TYPES, tags=PAPER_TAGS)
    off, features_off = [], []
    for top, expected in PARAMETERS.items():
        kinds = ("features", "log-linear", "corpus") if top else ("one-hot", "softmax", "none")
        features = {"features_from": "corpus", "top_types": top, "word_identity": bool(top)}
        model = LogLinearRNN(lexicon, *kinds, **features, embedding_size=256, hidden_size=256, layers=2)
        off.append(abs(count_parameters(model) - expected))
        if top:
            features_off.append(abs(model.phi_rows.columns - (top + 1 + PAPER_TAGS)))
    yield Finding.from_errors("models of Table 4", off, "parameters")
    yield Finding.from_errors(f"M + 1 + tags features, given {PAPER_TAGS} tags", features_off, "features")


def _draw_model(seed: int, **kinds: str) -> tuple[LogLinearRNN, Tensor, Tensor]:
    """Make a random model in float64 with words (4, 3) and targets (3, 1)."""
    generator = torch.Generator().manual_seed(seed)
    has_tag = (torch.rand(V, TAGS, generator=generator) < 0.3).numpy()
    counts = torch.randint(1, 50, (V,), generator=generator).sort(descending=True).values.numpy()
    tags = BooleanCSR.from_dense(has_tag)
    names = [str(i) for i in range(V)], [f"tag:{i}" for i in range(TAGS)]
    lexicon = Lexicon(*names, dict.fromkeys(("corpus", "train"), counts), dict.fromkeys(("corpus", "train"), tags))
    chosen = {"input": "features", "output": "log-linear", "background": "corpus"} | kinds
    sizes = {"embedding_size": 7, "hidden_size": 8, "layers": 2}
    model = LogLinearRNN(lexicon, **chosen, features_from="corpus", top_types=M, word_identity=True, **sizes)
    initialise(model, generator)
    model.double()
    return model, *(torch.randint(V, shape, generator=generator) for shape in ((4, 3), (3, 1)))


def _compute_adaptors(model: LogLinearRNN, words: Tensor) -> Tensor:
    """Return the adaptors a (B, features) after words (T, B), a leaf that gradients are taken by."""
    return model.compute_adaptors(model.compute_states(words)[0][-1]).detach().requires_grad_()
