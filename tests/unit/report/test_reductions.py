"""What a tier does less of, in words."""

import pytest
from config_helpers import experiments, project

from reprise.config.schema import TierEntry
from reprise.report.parts.reductions import describe_reductions


@pytest.mark.parametrize(
    ("count", "words"), [(1, "at most 1 epoch (tier paper: "), (6, "at most 6 epochs (tier paper: ")]
)
def test_one_is_counted_in_the_singular(count, words):
    entry = project().papers["rrntn"].experiments["s-rnn-100"]
    resolved = next(e for e in experiments("reduced") if e.id == "rrntn/s-rnn-100")
    entry = entry.model_copy(update={"tiers": {"reduced": TierEntry(replicas=3, max_epochs=count)}})
    assert describe_reductions(entry, resolved)["max_epochs"].startswith(words)
