"""The translation model: its equations by hand, what each extension changes, and its engines."""

import pytest
import torch
from translation_helpers import BASIC, LADDER, NAMES, V_X, V_Y, D, H, batch, build, logits_by_hand, size

from reprise.engines.lecture.translation import HandTranslator, ReferenceTranslator, translator_of
from reprise.errors import UserError
from reprise.models.recurrences import GRU, LSTM
from reprise.models.translation import Translator, backwards, initialise


@pytest.mark.parametrize("options", LADDER, ids=NAMES)
def test_it_is_the_equations_word_by_word(options):
    model = build(options)
    source, lengths, before = batch()
    logits = model(source, lengths, before)
    for column, length in enumerate(lengths.tolist()):
        expected = logits_by_hand(model, options, source[:length, column].tolist(), before[:, column].tolist())
        torch.testing.assert_close(logits[:, column], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", LADDER, ids=NAMES)
def test_padding_changes_nothing(options):
    model = build(options)
    one, other = (model(*batch(padding=word)) for word in (0, 9))
    assert torch.equal(one, other)
    source, lengths, before = batch()
    longer = torch.cat([source, torch.full((3, 3), 5)])
    torch.testing.assert_close(model(longer, lengths, before), one, rtol=1e-12, atol=1e-12)


def test_each_extension_adds_its_parameters_and_no_others():
    sizes = [size(options) for options in LADDER]
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


def test_what_the_decoder_reads():
    source, lengths, before = batch()
    other = (before + 1) % V_Y
    for options in LADDER:
        model = build(options)
        changed = not torch.equal(model(source, lengths, before), model(source, lengths, other))
        assert changed == options["context"], "only Extension II reads the word before"


def test_with_equal_weights_the_untied_model_is_the_tied_one():
    tied, untied = build(LADDER[0]), build(LADDER[1], seed=3)
    assert not torch.equal(tied(*batch()), untied(*batch()))
    phi = tied.encoder[0][0]
    untied.load_state_dict({**tied.state_dict(), "decoder.0.V": phi.V, "decoder.0.b": phi.b})
    assert torch.equal(tied(*batch()), untied(*batch()))


def test_reversing_is_reading_the_reversed_source():
    straight, turned = build(LADDER[3]), build({**LADDER[3], "reverse_source": True})
    source, lengths, before = batch()
    assert torch.equal(turned(source, lengths, before), straight(backwards(source, lengths), lengths, before))
    assert backwards(source, lengths)[:, 2].tolist() == [*source[:3, 2].tolist()[::-1], source[3, 2]]


@pytest.mark.parametrize(("ours", "theirs"), [(GRU, torch.nn.GRU), (LSTM, torch.nn.LSTM)])
def test_gated_units_are_those_of_torch(ours, theirs):
    """torch has the gates in another order, the update gate the other way about, and a second bias."""
    layer, other = ours(D, H).double(), theirs(D, H).double()
    generator = torch.Generator().manual_seed(2)
    order = [0, 1, 2] if ours is GRU else [0, 1, 3, 2]  # of torch's rows: r z n, and i f c o
    with torch.no_grad():
        for mine, name in ((layer.W, "weight_ih_l0"), (layer.V, "weight_hh_l0"), (layer.b, "bias_ih_l0")):
            mine.normal_(generator=generator)
            rows = torch.cat([mine.chunk(layer.gates)[order.index(i)] for i in range(layer.gates)])
            getattr(other, name).copy_(rows)
        other.bias_hh_l0.zero_()
    x = torch.randn(6, 2, D, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(layer(layer.read(x), layer.initial_state(2))[0], other(x)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", LADDER, ids=NAMES)
@pytest.mark.parametrize(("B", "longest"), [(1, 1), (9, 6), (20, 11)])
def test_the_hand_engine_is_held_to_the_readable_model_in_float64(options, B, longest):
    reference = build(options, seed=B, kind=ReferenceTranslator)
    hand = HandTranslator(V_X, V_Y, embedding_size=D, hidden_size=H, **options)
    hand.load_state_dict(reference.state_dict())
    generator = torch.Generator().manual_seed(B)
    source = torch.randint(V_X, (longest, B), generator=generator)
    before = torch.randint(V_Y, (longest + 1, B), generator=generator)
    lengths = torch.randint(1, longest + 1, (B,), generator=generator)
    places = torch.randperm(before.numel(), generator=generator)[: before.numel() // 2 + 1]
    y = torch.randint(V_Y, (len(places),), generator=generator)
    losses, gradients = [], []
    for model in (reference, hand):
        h, _ = model.decode(before, *model.encode(source, lengths))
        loss = model.nats(h.flatten(0, 1)[places], y)
        losses.append(loss.item())
        gradients.append(torch.autograd.grad(loss / B, list(model.parameters())))
    assert hand.W_S.dtype == torch.float32
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for (name, _), expected, found in zip(reference.named_parameters(), *gradients, strict=True):
        assert (found - expected).norm() <= 1e-5 * expected.norm(), name


def test_an_engine_is_called_by_its_name():
    assert translator_of("auto") is translator_of("hand") is HandTranslator
    assert translator_of("reference") is ReferenceTranslator
    with pytest.raises(UserError, match="engine: fused is none of auto, hand, reference; name one of these with"):
        translator_of("fused")


@pytest.mark.parametrize("changed", [{"layers": 2}, {"context": True}, {"bidirectional": True}])
def test_the_other_extensions_come_after_the_first(changed):
    with pytest.raises(UserError, match="option untied: .* write untied: true"):
        build({**BASIC, **changed})
    with pytest.raises(UserError, match="option layers: 0 is below 1"):
        build({**BASIC, "untied": True, "layers": 0})


def test_a_matrix_of_n_columns_has_variance_1_over_n_or_a_third_of_it():
    columns, deviation = 400, {}
    for law in ("gaussian", "uniform"):
        model = Translator(5, 1000, embedding_size=2, hidden_size=columns, **{**BASIC, "matrix_law": law})
        initialise(model, torch.Generator().manual_seed(4))
        deviation[law] = model.W_S.std().item() * columns**0.5
    assert model.W_S.abs().max() <= columns**-0.5
    assert deviation["gaussian"] == pytest.approx(1, rel=0.01)
    assert deviation["uniform"] == pytest.approx(3**-0.5, rel=0.01)
