"""How far a training is, read from its checkpoint, so that tests stop it where they mean to."""

from __future__ import annotations

from replica import Replica, Running, wait_until

from reprise.training.checkpoint import DamagedCheckpoint, decode


def progress(replica: Replica) -> tuple[int, bool]:
    """The step or epoch of the checkpoint, and whether it is inside an epoch; (-1, False) without one."""
    try:
        state = decode(replica.checkpoint.read_bytes())["state"]["training"]
    except (FileNotFoundError, DamagedCheckpoint):
        return -1, False
    return state.get("step", state.get("epoch")), state.get("next", 0) > 0


def reach(replica: Replica, running: Running, target: int, inside: bool = False) -> None:
    """Returns once a checkpoint of at least this step or epoch is saved, `inside` an epoch if so wished.

    The training has to be under way then.
    """

    def reached() -> bool:
        done, within = progress(replica)
        return done >= target and (within or not inside)

    wait_until(lambda: reached() or running.over)
    assert not running.over, f"trained to its end before {target}: {running.end()}"
