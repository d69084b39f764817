"""Palindromes of random digits, the task of document 002, part 1: remember the first digit."""

import torch

DIGITS = 10


def draw_palindromes(length: int, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a fresh batch of palindromes of `length` T: inputs (T - 1, B) and targets (B,), int64.

    The left half is uniform over the ten digits and mirrored; with odd T the middle digit stands
    once. The net sees the first T - 1 digits and predicts the last, which equals the first. The
    batch lies on the generator's device.
    """
    shape = ((length + 1) // 2, batch)
    left = torch.randint(DIGITS, shape, generator=generator, device=generator.device)  # (ceil(T / 2), B)
    whole = torch.cat([left, left[: length // 2].flip(0)])  # (T, B)
    return whole[:-1], whole[-1]
