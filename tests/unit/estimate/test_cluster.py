"""What a job asks a cluster for."""

import pytest

from reprise.cluster import Limits, limit_request, query_partition

DAY = 1440
STANDARD, LONG, GPU = Limits(DAY, 180_000), Limits(7 * DAY, 90_000), Limits(2 * DAY, 180_000, max_gpu=4)


@pytest.mark.parametrize(
    ("resources", "partitions", "limited"),
    [
        ((60, 4000, 0), [], (60, 4000)),
        ((60, 4000, 0), [Limits()], (60, 4000)),
        ((60, 4000, 0), [STANDARD, LONG, GPU], (60, 4000)),
        ((20 * DAY, 4000, 0), [STANDARD, LONG, GPU], (7 * DAY, 4000)),
        # The GPU's partition allows less time than another one.
        ((20 * DAY, 4000, 1), [STANDARD, LONG, GPU], (2 * DAY, 4000)),
        # Nor does a job without a GPU ask for what the GPU's partition alone allows.
        ((2 * DAY, 4000, 0), [STANDARD, GPU], (DAY, 4000)),
        ((2 * DAY, 4000, 0), [GPU], (2 * DAY, 4000)),
        # No partition allows both: never the time of one with the memory of another.
        ((3 * DAY, 100_000, 0), [STANDARD, LONG], (3 * DAY, 90_000)),
        ((DAY, 400_000, 0), [STANDARD, LONG], (DAY, 180_000)),
        # None has a GPU: what SLURM says to it is clearer than a job without.
        ((3 * DAY, 4000, 1), [STANDARD], (3 * DAY, 4000)),
    ],
)
def test_no_more_than_one_partition_allows(resources, partitions, limited):
    assert limit_request(*resources, partitions) == limited


STATED = """\
PartitionName=short AllowGroups=ALL Default=YES MaxTime=00:10:30 DefMemPerNode=UNLIMITED MaxMemPerNode=8000
PartitionName=long Default=NO MaxTime=7-12:00:00 MaxMemPerNode=UNLIMITED TRES=cpu=4,gres/gpu=2
PartitionName=endless Default=NO MaxTime=UNLIMITED
"""


@pytest.fixture
def scontrol(tmp_path, monkeypatch):
    """Says what the command of that name answers."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def answers(text, status=0):
        (tmp_path / "stated").write_text(text)
        check = '[ "$*" = "--oneliner show partition" ] || exit 9'
        (tmp_path / "scontrol").write_text(f"#!/bin/sh\n{check}\ncat '{tmp_path}/stated'\nexit {status}\n")
        (tmp_path / "scontrol").chmod(0o755)

    return answers


def test_slurm_is_asked_for_its_own_limits_and_without_an_answer_nothing_limits_a_job(scontrol, monkeypatch, tmp_path):
    scontrol(STATED)
    limits = {name: query_partition(name) for name in (None, "short", "long", "endless", "another")}
    short = Limits(10.5, 8000)
    assert limits == {None: short, "short": short, "long": Limits(7.5 * DAY), "endless": Limits(), "another": None}
    assert limit_request(DAY, 16000, 0, [short]) == (10, 8000)
    for text, status in ((STATED, 1), (STATED.replace("YES", "NO"), 0)):
        scontrol(text, status)
        assert query_partition() is None
    scontrol("PartitionName=odd Default=YES MaxTime=soon MaxMemPerNode=much\n")
    assert query_partition() == Limits()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert query_partition() is None
