"""Which experiments train in one job, and what that job asks for."""

from reprise.cluster import memory_of_stack
from reprise.training.stack_plan import stacks_by_name, trains_in_stack

# Experiments that train in one program where there is a GPU, by the stack's name; what it leaves lies in FOUND.
FOUND = "build/stacks"
MINUTES_TO_MOVE = 10
STACKS = stacks_by_name(EXPERIMENTS)
STACK_OF = {e.id: name for name, group in STACKS.items() for e in group}


def wanted_by_stack(wildcards, attempt):
    """Minutes and memory (MB) of a stack. On a CPU its replicas take turns; on a GPU they take as long as the longest.

    Their memory adds up: what trains on a GPU passes through the program's when it is made and when it is saved.
    """
    limits = [
        limits_of(e.id)
        for e in STACKS[wildcards.stack]
        for path in e.record_paths()
        if not Path(path).exists()
    ]
    minutes = [of_time for of_time, _ in limits]
    together = max(minutes, default=1) if most_gpus() else sum(minutes)
    mem_mb = memory_of_stack(
        (of_memory for _, of_memory in limits), PROJECT.config.resources.train.mem_mb
    )
    return attempted(attempt, together, mem_mb, min(1, most_gpus()))


def corpus_of_stack(wildcards):
    corpus = STACKS[wildcards.stack][0].corpus
    return [corpus] if corpus else []


def stack_of(wildcards):
    """The stack that trains this replica, if one does here."""
    if not trains_in_stack(resolved(wildcards), most_gpus()):
        return []
    return [f"{FOUND}/{TIER}/{STACK_OF[resolved(wildcards).id]}.done"]


def found_of(wildcards):
    """Said wherever a stack could have trained the replica: a job on a cluster sees fewer GPUs than who planned it."""
    return f"--found {FOUND}" if resolved(wildcards).id in STACK_OF else ""
