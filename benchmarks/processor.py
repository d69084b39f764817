"""The processor's name, as the files of results bear it."""

import re

_GENERATIONS = {
    "AuthenticAMD": {
        "zen 3": {25: (range(0x00, 0x10), range(0x20, 0x60))},
        "zen 4": {25: (range(0x10, 0x20), range(0x60, 0xB0))},
        "zen 5": {26: (range(0x00, 0x30), range(0x40, 0x50), range(0x60, 0x80))},
    },
    "GenuineIntel": {
        "ice lake": {6: (range(0x6A, 0x6B), range(0x6C, 0x6D))},
        "sapphire rapids": {6: (range(0x8F, 0x90),)},
        "emerald rapids": {6: (range(0xCF, 0xD0),)},
        "granite rapids": {6: (range(0xAD, 0xAF),)},
    },
}
"""Generations of servers by maker, family and models, as Linux has them (arch/x86): many share one name."""


def name_processor(name: str, facts: dict[str, str], march: str = "") -> str:
    """Return a name for files: the processor's own, its generation or family and model, and the `march` if one is set.

    `facts` are those of `reprise.processor.read_cpuinfo`.
    """
    family, model = facts.get("cpu family", ""), facts.get("model", "")
    kind = f"{family} {model}"
    for generation, families in _GENERATIONS.get(facts.get("vendor_id", ""), {}).items():
        if any(int(model) in some for some in families.get(int(family), ())):
            kind = generation
    return re.sub(r"[^a-z0-9]+", "-", f"{name} {kind} {march}".lower().replace("(r)", "")).strip("-")
