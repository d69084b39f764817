"""When the runner of stacks begins one, lets it wait for room, and saves: on a pretended clock."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from pretended_stacks import Pretence
from stacked_helpers import never

from reprise.training.stack_running import Running


@pytest.mark.parametrize("at", ["start b", "turn b"])
@pytest.mark.parametrize("alone", [True, False])
def test_a_replica_without_room_waits_until_a_stack_beside_it_has_ended(at, alone, tmp_path, monkeypatch):
    def before(line):
        others = pretence.running - (at == "turn b")
        if line == at and (others or not alone):
            raise torch.OutOfMemoryError("CUDA out of memory")

    pretence = Pretence(monkeypatch, pieces=3, before=before)
    runner = pretence.runner("abcd", tmp_path, streams=3)
    runner.run(never)
    assert [job.resolved.experiment for job in runner.failed] == ([] if alone else ["b"])
    assert not runner.unfinished
    assert [pretence.log.count(f"turn {name}") for name in "acd"] == [3, 3, 3]
    begun = [i for i, line in enumerate(pretence.log) if line == "start b"]
    ended = [len(pretence.log) - 1 - pretence.log[::-1].index(f"turn {name}") for name in "acd"]
    for before_it, again in itertools.pairwise(begun):
        assert any(before_it < end < again for end in ended)
    # Those behind it are not kept waiting by it.
    assert pretence.log.index("start d") < begun[1]
    assert sum("p/b replica 0 and 0 more: out of memory: begins once" in line for line in pretence.said) > 0


def test_a_replica_without_room_does_not_wait_for_those_that_were_put_off(tmp_path, monkeypatch):
    def before(line):
        if line == "start b" and pretence.running:
            raise torch.OutOfMemoryError("CUDA out of memory")

    pretence = Pretence(monkeypatch, before=before)
    runner = pretence.runner("abc", tmp_path, streams=2)
    runner.queue[2] = runner.queue[2][0], True
    runner.run(never)
    assert [line for line in pretence.log if line.startswith("start")] == ["start a", "start b", "start b", "start c"]
    assert not runner.failed


@pytest.mark.parametrize(("streams", "seconds"), [(1, 8.0), (6, 1.0), (6, 6.0), (6, 15.0)])
def test_saves_take_a_twentieth_of_the_time_however_many_stacks_there_are(streams, seconds, tmp_path, monkeypatch):
    pretence = Pretence(monkeypatch, piece=2.0, save=seconds, pieces=1_000_000)
    runner = pretence.runner("abcdef"[:streams], tmp_path, streams=streams)
    runner.run(lambda: "SIGTERM" if pretence.now > 7200 else "")
    saves = sum(line.startswith("save") for line in pretence.log) - streams  # but for those at the end
    assert saves >= 2 * streams
    assert saves * seconds < 7200 / 20


@pytest.mark.parametrize(("left", "trained"), [(8.0, "a"), (20.0, "ab"), (math.inf, "abcd")])
def test_a_stack_is_begun_only_where_it_can_be_set_up_before_the_end(left, trained, tmp_path, monkeypatch):
    # Nor is one put off, which would not end in time either, for others that cannot be begun.
    monkeypatch.setattr(Running, "seconds_left", lambda self, usual: 7.0)
    pretence = Pretence(monkeypatch, set_up=6.0)
    runner = pretence.runner("abcd", tmp_path, left=lambda: left - pretence.now, streams=3)
    runner.run(never)
    assert [line for line in pretence.log if line.startswith("start")] == [f"start {name}" for name in trained]
    assert not any("put off" in line for line in pretence.said)
    assert (runner.failed, len(runner.unfinished)) == ([], 4 - len(trained))
    assert pretence.now <= left
    waiting = [line for line in pretence.said if "in no stack: stopped by the end of its time" in line]
    assert [line[0] for line in waiting] == [str(len(runner.unfinished))] * bool(runner.unfinished)


def test_the_first_stack_is_begun_however_little_time_there_is(tmp_path, monkeypatch):
    pretence = Pretence(monkeypatch, set_up=6.0)
    runner = pretence.runner("ab", tmp_path, left=lambda: 1.5 - pretence.now)
    runner.run(never)
    assert pretence.log == ["start a", "save a"]
    assert [job.title for job in runner.unfinished] == ["p/a replica 0", "p/b replica 0"]


def test_stacks_that_run_have_a_turn_before_the_next_one_is_begun(tmp_path, monkeypatch):
    pretence = Pretence(monkeypatch)
    pretence.runner("abc", tmp_path, streams=3).run(never)
    order = ["start a", "turn a", "start b", "turn a", "turn b", "start c", "turn b", "turn c", "turn c"]
    assert pretence.log == order
