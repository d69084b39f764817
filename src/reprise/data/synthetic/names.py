"""The two sentences of document 003, section 2.3, with other names and a text of any length between.

    Jane walked into the room . John walked in too . <filler> Jane said hi to ___

The blank is the second name. The filler's words are drawn one by one from those of the notes' sentence: "It was late in
the day and everyone was walking home after a long day at work."
"""

import torch
from torch import Tensor

_TEXTS = ("walked into the room .", "walked in too .", "said hi to")
_FILLER = "it was late in the day and everyone was walking home after a long day at work ."


class Names:
    """The texts with `names` different names, which are the first words of the vocabulary."""

    def __init__(self, names: int) -> None:
        self.names = names
        spelled = [*" ".join(_TEXTS).split(), *_FILLER.split()]
        self.vocabulary = [f"name-{i}" for i in range(names)] + list(dict.fromkeys(spelled))
        ids = {word: i for i, word in enumerate(self.vocabulary)}
        self._texts = [torch.tensor([ids[word] for word in text.split()]) for text in _TEXTS]
        self._filler = torch.tensor([ids[word] for word in _FILLER.split()])

    def draw(self, filler: int, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw a batch of texts with `filler` words between: words (15 + filler, B), and the blank's name (B,), int64.

        The two names of a text differ.
        """
        first = torch.randint(self.names, (batch,), generator=generator)
        second = (first + torch.randint(1, self.names, (batch,), generator=generator)) % self.names
        between = self._filler[torch.randint(len(self._filler), (filler, batch), generator=generator)]
        into, too, hi = (text[:, None].expand(-1, batch) for text in self._texts)
        return torch.cat([first[None], into, second[None], too, between, first[None], hi]), second
