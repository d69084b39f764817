"""The claim D1 of the toy paper, and what a test puts in its place."""

from __future__ import annotations

from pathlib import Path

D1 = """\
    kind: superiority
    metric: last_ten_accuracy
    split: train
    compare: {lower: rnn-t5, higher: lstm-t5}
"""
REACH = "    metric: accuracy\n    split: train\n    share: {experiments: [rnn-t5], reaches: 1.0"
WHY = 'from: "ours: small"'


def write(clone: Path, claim: str = D1, more: str = "") -> None:
    """Puts another statistic in the place of claim D1's, and appends `more` to the file."""
    path = clone / "config/papers/digits.yaml"
    text = path.read_text(encoding="utf-8")
    assert D1 in text
    path.write_text(text.replace(D1, claim) + more, encoding="utf-8")
