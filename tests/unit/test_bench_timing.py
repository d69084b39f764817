"""Repetitions on fake clocks: which are quiet, what their medians are, and when there are enough."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from reprise.bench import timing
from reprise.bench.timing import Repetition, interleave, repetition, summarise


class FakeClock:
    """Work that takes `wall` s during which this process computes `own` s and all processes `busy` s."""

    def __init__(self, wall, own, busy):
        self.steps = {"wall": wall, "own": own, "busy": busy}
        self.now = {"wall": 100.0, "own": 7.0, "busy": 900.0}

    def work(self):
        for name, step in self.steps.items():
            self.now[name] = None if step is None else self.now[name] + step
        return 300

    def wall(self):
        return self.now["wall"]

    def own(self):
        return self.now["own"]

    def busy(self):
        return self.now["busy"]


@pytest.mark.parametrize(
    ("own", "busy", "others", "quiet"),
    [
        (2.0, 2.0, 0.0, True),
        (2.0, 2.09, 0.09, True),  # 4.5 % of a core
        (2.0, 2.11, 0.11, False),  # 5.5 %
        (1.0, 1.11, 0.11, False),  # however little this process got
        (2.0, 1.99, 0.0, True),  # the system's clock is coarser than this process's
        (2.0, None, None, False),  # where nobody can tell
    ],
)
def test_a_repetition_is_quiet_if_others_took_at_most_a_twentieth_of_a_core(own, busy, others, quiet):
    clock = FakeClock(2.0, own, busy)
    one = repetition(clock.work, clock)
    assert one.rate == pytest.approx(150)
    assert one.others == (None if others is None else pytest.approx(others))
    assert one.quiet is quiet


def test_idle_and_waiting_cores_are_not_busy_and_stolen_ones_are(monkeypatch, tmp_path):
    file = tmp_path / "stat"
    file.write_text("cpu  1 20 300 4000 50000 600000 7000000 80000000 1 1\ncpu0 9 9 9 9 9 9 9 9\n")
    monkeypatch.setattr(timing, "_PROC_STAT", file)
    monkeypatch.setattr("os.sysconf", {"SC_CLK_TCK": 100}.get)
    assert timing.SystemClock().busy() == pytest.approx((1 + 20 + 300 + 600_000 + 7_000_000 + 80_000_000) / 100)
    file.unlink()
    assert timing.SystemClock().busy() is None


def test_the_system_clock_sees_other_processes_and_not_this_one():
    clock = timing.SystemClock()
    if clock.busy() is None:
        pytest.skip("this system does not tell how busy it is (/proc/stat)")
    before = clock.own()
    while clock.own() - before < 0.05:
        pass
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        one = repetition(lambda: time.sleep(0.6) or 1)
    finally:
        burner.kill()
        burner.wait()
    assert one.others > 0.1
    assert not one.quiet


def reps(*rates, quiet=True):
    return [Repetition(int(rate), 1.0, 0.0 if quiet else 0.5) for rate in rates]


def test_three_quiet_repetitions_leave_out_the_others():
    summary = summarise(reps(10, 30, 20) + reps(1, 2, quiet=False))
    assert vars(summary) == {"median": 20, "low": 10, "high": 30, "reps": 5, "quiet_reps": 3}


def test_with_fewer_quiet_repetitions_all_count_and_the_numbers_say_so():
    summary = summarise(reps(10, 30) + reps(1, 2, quiet=False))
    assert vars(summary) == {"median": 6, "low": 1, "high": 30, "reps": 4, "quiet_reps": 2}


def runner(log, name, results):
    def one():
        log.append(name)
        return next(results)

    return one


def forever(one):
    while True:
        yield one


def test_implementations_take_turns_until_all_have_been_quiet_often_enough():
    log = []
    noisy = reps(5, 5, quiet=False) + reps(5, 5, 5, 5)
    runs = {"a": runner(log, "a", forever(reps(9)[0])), "b": runner(log, "b", iter(noisy))}
    done = interleave(runs, quiet=4, seconds=1e9, wall=lambda: 0.0)
    assert [len(v) for v in done.values()] == [6, 6]
    assert "".join(log) == "abbaabbaabba"


def test_a_noisy_machine_ends_the_measurement_after_its_time_but_not_before_three_rounds():
    ticks = iter(range(0, 1000, 10))
    runs = {"a": runner([], "a", forever(reps(9, quiet=False)[0]))}
    assert len(interleave(runs, 7, 55.0, lambda: next(ticks))["a"]) == 8
    assert len(interleave(runs, 7, 0.0, lambda: next(ticks))["a"]) == 3


def test_an_implementation_that_fails_drops_out_and_the_others_go_on():
    runs = {
        "a": runner([], "a", iter([*reps(1), None])),
        "b": runner([], "b", forever(reps(2)[0])),
    }
    done = interleave(runs, 5, 1e9, lambda: 0.0)
    assert [len(v) for v in done.values()] == [1, 5]
