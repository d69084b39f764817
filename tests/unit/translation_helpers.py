"""The translation model in small, its ladder of extensions, and its equations by hand: what two test files share."""

from __future__ import annotations

import torch

from reprise.models.translation import Translator

V_X, V_Y, D, H = 11, 7, 3, 4
BASIC = {
    "unit": "rnn",
    "layers": 1,
    "untied": False,
    "context": False,
    "bidirectional": False,
    "reverse_source": False,
    "matrix_law": "gaussian",
}
STEPS = [
    {},
    {"untied": True},
    {"context": True},
    {"layers": 2},
    {"bidirectional": True},
    {"reverse_source": True},
    {"unit": "gru"},
    {"unit": "lstm"},
]
LADDER = [BASIC]
for step in STEPS[1:]:
    LADDER.append({**LADDER[-1], **step})
NAMES = ["basic", "I", "II", "III", "IV", "V", "gru", "lstm"]
LENGTHS = torch.tensor([4, 1, 3])


def build(options, seed=0, kind=Translator, dtype=torch.float64):
    model = kind(V_X, V_Y, embedding_size=D, hidden_size=H, **options)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.7, generator=generator)
    return model.to(dtype)


def batch(seed=1, padding=0):
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(V_X, (4, 3), generator=generator)
    source[torch.arange(4)[:, None] >= LENGTHS] = padding
    return source, LENGTHS, torch.randint(V_Y, (5, 3), generator=generator)


def size(options):
    return sum(p.numel() for p in build(options).parameters())


def step_by_hand(unit, W, V, b, x, state):
    """Sections 2.5, 3 and 4 with one gate after another; W x may be given as x where there is no W."""
    h = state[0]
    Wx = (W @ x if W is not None else x) + b
    Vh = V @ h
    if unit == "rnn":
        return (torch.tanh(Wx + Vh),)
    if unit == "gru":
        r, z = (torch.sigmoid(Wx[i * H : (i + 1) * H] + Vh[i * H : (i + 1) * H]) for i in (0, 1))
        new = torch.tanh(r * Vh[2 * H :] + Wx[2 * H :])
        return ((1 - z) * new + z * h,)
    i, f, o = (torch.sigmoid(Wx[k * H : (k + 1) * H] + Vh[k * H : (k + 1) * H]) for k in (0, 1, 2))
    c = f * state[1] + i * torch.tanh(Wx[3 * H :] + Vh[3 * H :])
    return o * torch.tanh(c), c


def logits_by_hand(model, options, words, before):
    """Equations 23 to 25 and 27 for one pair, word by word, without batches and without padding."""
    unit, zero = options["unit"], torch.zeros(H, dtype=torch.float64)
    parts = 2 if unit == "lstm" else 1
    if options["reverse_source"]:
        words = words[::-1]
    xs = [model.E_x[word] for word in words]
    starts = []
    for layer in model.encoder:
        outputs, ends = [], []
        for backward, phi in enumerate(layer):
            state, states = (zero,) * parts, []
            for x in xs[::-1] if backward else xs:
                state = step_by_hand(unit, phi.W, phi.V, phi.b, x, state)
                states.append(state[0])
            ends.append(state)
            outputs.append(states[::-1] if backward else states)
        starts.append(ends[0])
        xs = [torch.cat(both) for both in zip(*outputs, strict=True)]
    c = torch.cat([end[0] for end in ends])
    layers = model.decoder if options["untied"] else [model.encoder[0][0]]
    found = []
    for y in before:
        x = torch.zeros(len(layers[0].b), dtype=torch.float64)
        if options["context"]:
            x = model.W_hy @ model.E_y[y] + model.W_hc @ c
        for i, phi in enumerate(layers):
            starts[i] = step_by_hand(unit, phi.W if i else None, phi.V, phi.b, x, starts[i])
            x = starts[i][0]
        found.append(model.W_S @ x + model.b_S)
    return torch.stack(found)
