"""The translation model: its equations by hand, what each extension changes, greedy translations."""

import math

import pytest
import torch

from reprise.errors import UserError
from reprise.evaluation.sampling import translate_batch
from reprise.models.recurrent_layers import GRU, LSTM
from reprise.models.translation import Translator, initialise

V_X, V_Y, D, H = 11, 7, 3, 4
BASIC = {"unit": "rnn", "layers": 1, "matrix_law": "gaussian", "untied": False, "context": False}
BASIC |= {"bidirectional": False, "reverse_source": False}
LADDER = {"basic": BASIC}
LADDER["I"] = {**BASIC, "untied": True}
LADDER["II"] = {**LADDER["I"], "context": True}
LADDER["III"] = {**LADDER["II"], "layers": 2}
LADDER["IV"] = {**LADDER["III"], "bidirectional": True}
LADDER["V"] = {**LADDER["IV"], "reverse_source": True}
LADDER["gru"] = {**LADDER["V"], "unit": "gru"}
LADDER["lstm"] = {**LADDER["V"], "unit": "lstm"}
LENGTHS = torch.tensor([4, 1, 3])
END = 2


def build(options, seed=0, dtype=torch.float64):
    model = Translator(V_X, V_Y, embedding_size=D, hidden_size=H, **options)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.7, generator=generator)
    return model.to(dtype)


def batch():
    """Source words, the last two rows of which nobody has, lengths, and the words before each of the target."""
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(V_X, (6, 3), generator=generator)
    return source, LENGTHS, torch.randint(V_Y, (5, 3), generator=generator)


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
        xs = [torch.cat(pair) for pair in zip(*outputs, strict=True)]
    c = torch.cat([end[0] for end in ends])
    layers = model.decoder if options["untied"] else [model.encoder[0][0]]
    logits = []
    for y in before:
        x = torch.zeros(len(layers[0].b), dtype=torch.float64)
        if options["context"]:
            x = model.W_hy @ model.E_y[y] + model.W_hc @ c
        for i, phi in enumerate(layers):
            starts[i] = step_by_hand(unit, phi.W if i else None, phi.V, phi.b, x, starts[i])
            x = starts[i][0]
        logits.append(model.W_S @ x + model.b_S)
    return torch.stack(logits)


@pytest.mark.parametrize("options", LADDER.values(), ids=LADDER)
def test_it_is_the_equations_word_by_word(options):
    """What follows a text's last word in its column is read by nothing."""
    model = build(options)
    source, lengths, before = batch()
    logits = model(source, lengths, before)
    for column, length in enumerate(lengths.tolist()):
        expected = logits_by_hand(model, options, source[:length, column].tolist(), before[:, column].tolist())
        torch.testing.assert_close(logits[:, column], expected, rtol=1e-12, atol=1e-12)


def test_each_extension_adds_its_parameters_and_no_others():
    sizes = [sum(p.numel() for p in build(options).parameters()) for options in LADDER.values()]
    # E_x; W, V and b of phi; W_S and its bias
    assert sizes[0] == V_X * D + H * D + H * H + H + V_Y * H + V_Y
    added = [after - before for before, after in zip(sizes[:5], sizes[1:6], strict=True)]
    backward = (H * D + H * H + H) + (H * 2 * H + H * H + H)
    assert added == [
        H * H + H,  # I: the decoder's own V and b
        V_Y * D + H * D + H * H,  # II: the vectors of the words before, W_hy and W_hc
        2 * (H * H + H * H + H),  # III: W, V and b of a second layer in either
        backward + H * H + H * H,  # IV: two layers backwards, the second forward one reads both, and so does W_hc
        0,  # V
    ]
    recurrent = sizes[5] - V_X * D - V_Y * D - V_Y * H - V_Y
    assert [after - sizes[5] for after in sizes[6:]] == [2 * recurrent, 3 * recurrent]


@pytest.mark.parametrize(("ours", "theirs"), [(GRU, torch.nn.GRU), (LSTM, torch.nn.LSTM)])
def test_gated_units_are_those_of_torch(ours, theirs):
    """torch has the gates in another order, the update gate the other way about, and a second bias."""
    layer, other = ours(D, H).double(), theirs(D, H).double()
    generator = torch.Generator().manual_seed(2)
    order = [0, 1, 2] if ours is GRU else [0, 1, 3, 2]  # of torch's rows: r z n, and i f c o
    with torch.no_grad():
        for parameter, name in ((layer.W, "weight_ih_l0"), (layer.V, "weight_hh_l0"), (layer.b, "bias_ih_l0")):
            parameter.normal_(generator=generator)
            rows = torch.cat([parameter.chunk(layer.gates)[order.index(i)] for i in range(layer.gates)])
            getattr(other, name).copy_(rows)
        other.bias_hh_l0.zero_()
    x = torch.randn(6, 2, D, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(layer(layer.read(x), layer.initial_state(2))[0], other(x)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("changed", [{"layers": 2}, {"context": True}, {"bidirectional": True}])
def test_the_other_extensions_come_after_the_first(changed):
    with pytest.raises(UserError, match="option untied: .* write untied: true"):
        build({**BASIC, **changed})


def test_a_matrix_of_n_columns_has_variance_1_over_n_or_a_third_of_it():
    columns, deviation = 400, {}
    for law in ("gaussian", "uniform"):
        model = Translator(5, 1000, embedding_size=2, hidden_size=columns, **{**BASIC, "matrix_law": law})
        initialise(model, torch.Generator().manual_seed(4))
        deviation[law] = model.W_S.std().item() * columns**0.5
    assert model.W_S.abs().max() <= columns**-0.5
    assert deviation["gaussian"] == pytest.approx(1, rel=0.01)
    assert deviation["uniform"] == pytest.approx(3**-0.5, rel=0.01)


def test_greedy_takes_the_likeliest_word_until_the_end():
    for options in (LADDER[name] for name in ("basic", "V", "lstm")):
        model = build(options)
        source, lengths, _ = batch()
        sentences = translate_batch(model, source, lengths, END, 12)
        assert sentences == translate_batch(model, source, lengths, END, 12)
        for column, length in enumerate(lengths.tolist()):
            words, before = source[:length, column].tolist(), [END]
            while len(before) <= 12:
                before.append(int(logits_by_hand(model, options, words, before)[-1].argmax()))
                if before[-1] == END:
                    before.pop()
                    break
            assert sentences[column] == before[1:]


def test_greedy_stops_at_the_end_sign_and_writes_no_barred_word():
    model = build(LADDER["II"])
    source, lengths, _ = batch()
    with torch.no_grad():
        model.b_S[END] = 100.0
    assert translate_batch(model, source, lengths, END, 12) == [[], [], []]
    with torch.no_grad():
        model.b_S[END] = -math.inf
        model.b_S[4] = 100.0
    assert translate_batch(model, source, lengths, END, 5) == [[4] * 5] * 3
    assert not any(4 in words for words in translate_batch(model, source, lengths, END, 5, banned=[4]))
