"""The translation model of document 003, section 2.6: an encoder reads the source, a decoder writes the target.

    h_t = phi(h_{t-1}, x_t) = f(W^(hh) h_{t-1} + W^(hx) x_t)      (23), encoder, over the words x_1 .. x_T of the source
    h_t = phi(h_{t-1}) = f(W^(hh) h_{t-1})                        (24), decoder, from the encoder's last state h_T
    y_t = softmax(W^(S) h_t)                                      (25)
    h_t = phi(h_{t-1}, c, y_{t-1}) = f(W^(hh) h_{t-1} + W^(hc) c + W^(hy) y_{t-1})     (27), decoder, extension II

Layers and softmax have biases, as in equations 17 to 22. The notes print (27) as phi(h_{t-1}, c, y_{t-1}) alone: the
sum of three products is ours. Their extensions are options, each of which changes what it says and nothing else:

I    `untied`: the decoder's phi has weights of its own.
II   `context`: the decoder's phi reads h_{t-1}, c = h_T and the word before, y_{t-1}, with a matrix for each (27).
III  `layers`: phi is a stack of layers, each reading the one below it (20, 22). A layer of the decoder begins with the
     last state of the same layer of the encoder. c is that of the highest.
IV   `bidirectional`: a second network reads the source from its end to its beginning (18, 21). A layer above reads
     both directions, c holds the last states of both. The decoder begins with those of the first one.
V    `reverse_source`: the source is read as C, B, A in the place of A, B, C.

Gated units (sections 3 and 4) take the place of f by the option `unit`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from reprise.errors import UserError
from reprise.models.initialisation import declare_parameters, initialise_by_columns
from reprise.models.recurrent_layers import UNITS, State


class Translator(nn.Module):
    """Translate between V_x and V_y words, with word vectors of size d and L layers of H hidden units.

    `UserError` for L below 1, and for extensions II to IV without I.
    """

    def __init__(
        self,
        source_vocabulary: int,
        vocabulary: int,
        unit: str,
        embedding_size: int,
        hidden_size: int,
        layers: int,
        untied: bool,
        context: bool,
        bidirectional: bool,
        reverse_source: bool,
        matrix_law: str,
    ) -> None:
        super().__init__()
        if not untied and (context or bidirectional or layers > 1):
            needs = "the decoder shares the encoder's phi, which the other extensions change; write untied: true"
            raise UserError(f"model translation: option untied: {needs}")
        d, H, directions, layer = embedding_size, hidden_size, 1 + bidirectional, UNITS[unit]
        self.untied, self.context, self.reverse_source = untied, context, reverse_source
        self.matrix_law = matrix_law
        declare_parameters(self, E_x=(source_vocabulary, d))  # row w is the vector of word w
        inputs = [d] + [directions * H] * (layers - 1)
        self.encoder = nn.ModuleList(nn.ModuleList(layer(n, H) for _ in range(directions)) for n in inputs)
        if untied:
            self.decoder = nn.ModuleList(layer(H if i else 0, H) for i in range(layers))
        if context:
            declare_parameters(
                self, E_y=(vocabulary, d), W_hy=(layer.gates * H, d), W_hc=(layer.gates * H, directions * H)
            )
        declare_parameters(self, W_S=(vocabulary, H), b_S=(vocabulary,))

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[list[State], Tensor]:
        """Read sources, words (T, B) of `lengths` (B,), padded by anything.

        Returns:
            The last state of each layer, each part (B, H), with which the decoder begins. And c, (B, H) or with two
            directions (B, 2 H). What stands after a source's end has no influence on them.
        """
        if self.reverse_source:
            source = reverse_sequences(source, lengths)
        x = functional.embedding(source, self.E_x)  # (T, B, d)
        last = lengths - 1, torch.arange(len(lengths), device=source.device)
        starts = []
        for forward, *backward in self.encoder:
            states = forward(forward.read(x), forward.initial_state(len(lengths)))  # (T, B, H), (23, 17, 20)
            starts.append(tuple(part[last] for part in states))
            outputs, c = [states[0]], [starts[-1][0]]
            for layer in backward:  # (18, 21)
                h, *_ = layer(layer.read(reverse_sequences(x, lengths)), layer.initial_state(len(lengths)))
                outputs.append(reverse_sequences(h, lengths))
                c.append(h[last])
            x = torch.cat(outputs, 2)
        return starts, torch.cat(c, 1)

    def decode(self, before: Tensor, starts: Sequence[State], c: Tensor) -> tuple[Tensor, list[State]]:
        """Compute h_1 .. h_T (T, B, H) and the last states, from the words before, y_0 .. y_{T-1} (T, B), and `starts`.

        Without extension II the words are not read; only their number counts.
        """
        Wx, ends = self._compute_inputs(before, c), []
        for phi, above, state in zip(self.phi, [*self.phi[1:], None], starts, strict=True):
            states = phi(Wx, state)  # (T, B, H) each, (24, 27, 20)
            ends.append(tuple(part[-1] for part in states))
            Wx = above.read(states[0]) if above is not None else Wx
        return states[0], ends

    @property
    def phi(self) -> Sequence[nn.Module]:
        """Return the decoder's layers: its own, or the encoder's."""
        return self.decoder if self.untied else self.encoder[0]

    def _compute_inputs(self, before: Tensor, c: Tensor) -> Tensor:
        """Compute the input of the decoder's lowest layer without that of h_{t-1}, with its bias, (T, B, G H)."""
        b = self.phi[0].b
        if not self.context:
            return b.expand(*before.shape, -1)  # (24)
        y = functional.embedding(before, self.E_y)  # (T, B, d)
        return functional.linear(y, self.W_hy, None) + functional.linear(c, self.W_hc, b)  # (27)

    def compute_logits(self, h: Tensor) -> Tensor:
        """Compute W^(S) h_t + b, (..., V_y), of h (..., H)   (25)."""
        return functional.linear(h, self.W_S, self.b_S)

    def forward(self, source: Tensor, lengths: Tensor, before: Tensor) -> Tensor:
        """Compute logits (U, B, V_y) from sources (T, B) of `lengths` and the words before each target word (U, B)."""
        h, _ = self.decode(before, *self.encode(source, lengths))
        return self.compute_logits(h)


def reverse_sequences(x: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each of the sequences x (T, B, ...); what stands after its end stays where it is."""
    T, B = x.shape[:2]
    t = torch.arange(T, device=x.device)[:, None]
    places = torch.where(t < lengths, lengths - 1 - t, t) * B + torch.arange(B, device=x.device)
    return x.flatten(0, 1).index_select(0, places.flatten()).view_as(x)


def initialise(model: Translator, generator: torch.Generator) -> None:
    """Draw matrices by `matrix_law`; the uniform one has a third of the other's variance."""
    initialise_by_columns(model, generator, vectors=("E_x", "E_y"), uniform=model.matrix_law == "uniform")
