"""How far the same replica's numbers lie apart, trained under two releases of torch or on two processors.

Records of one configuration and replica are twins. Those that the pipeline made lie in results/<tier>/runs; others,
made for this table by `reprise train --output`, in results/machines.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import stdev
from typing import Any, NamedTuple

from reprise.evidence.numbers import numbers_of
from reprise.records.record import read_record

FOLDERS = ("results/paper/runs", "results/reduced/runs", "results/machines")
NUMBERS = (
    ("cross_entropy", "test", "test loss"),
    ("log_loss", "test", "test loss"),
    ("final_cross_entropy", "train", "training loss at the end"),
    ("last_ten_cross_entropy", "train", "training loss at the end"),
    ("accuracy_at_72", "test", "names recalled over 72 words"),
)
"""What is compared of a training: the first of these that its record has."""


class Twin(NamedTuple):
    """Two records of one replica that were not made alike."""

    protocol: str
    experiment: str
    differs: str
    first: float
    second: float
    quantity: str
    seeds: Sequence[float]

    @property
    def difference(self) -> float:
        """By how much the numbers differ."""
        return abs(self.first - self.second)

    @property
    def share_of_sd(self) -> float | None:
        """Return the difference in SDs over seeds; None where fewer than two seeds, or equal ones, are at hand."""
        deviation = stdev(self.seeds) if len(self.seeds) > 1 else 0.0
        return self.difference / deviation if deviation else None


def read_records(root: Path) -> list[dict[str, Any]]:
    """Read all records that may have a twin."""
    return [read_record(path) for folder in FOLDERS for path in sorted((root / folder).rglob("*.json"))]


def torch_of(run: Mapping[str, Any]) -> str:
    """Return the release of torch, without its build."""
    return run["versions"]["torch"].partition("+")[0]


def what_differs(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Say what differs between the machines of two records: torch, processor, engine, or nothing."""
    pairs = (
        ("torch", torch_of(first), torch_of(second)),
        ("processor", processor_of(first), processor_of(second)),
        ("engine", first["engine"], second["engine"]),
    )
    return ", ".join(f"{name} {one} and {other}" for name, one, other in pairs if one != other)


def processor_of(run: Mapping[str, Any]) -> str:
    """Return the maker of a processor, or a GPU's name."""
    device = run["device"]
    return next((maker for maker in ("AMD", "Intel") if maker in device), device)


def find_twins(records: Iterable[dict[str, Any]]) -> Iterator[Twin]:
    """Yield every pair of records of one replica that were made otherwise."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if record["status"] == "finished" and "training" in record["config"]:
            groups[record["paper"], record["experiment"], record["config_hash"]].append(record)
    for (paper, experiment, _), group in groups.items():
        base = [one for key, some in groups.items() if key[:2] == (paper, experiment.split("@")[0]) for one in some]
        for first, second in combinations(group, 2):
            differs = what_differs(first["run"], second["run"])
            if first["replica"] != second["replica"] or not differs:
                continue
            one, other = ({(m["metric"], m["split"]): m["value"] for m in numbers_of(r)} for r in (first, second))
            name = next((name for name in NUMBERS if name[:2] in one and name[:2] in other), None)
            if name is None:
                continue
            seeds = max((seeds_of(some, like, name) for some in (group, base) for like in (first, second)), key=len)
            protocol = first["config"]["training"]["protocol"]
            values = one[name[:2]], other[name[:2]]
            yield Twin(protocol, f"{paper}/{experiment}", differs, *values, name[2], seeds)


def seeds_of(records: Iterable[dict[str, Any]], like: Mapping[str, Any], name: tuple[str, ...]) -> list[float]:
    """Return a number of every replica that was made on a machine like that of a record."""
    values: dict[int, float] = {}
    for record in records:
        if not what_differs(record["run"], like["run"]):
            entries = {(m["metric"], m["split"]): m["value"] for m in numbers_of(record)}
            if name[:2] in entries:
                values.setdefault(record["replica"], entries[name[:2]])
    return list(values.values())


def machines_table(root: Path) -> str:
    """Return a row for each protocol and each thing that differs, in Markdown: the largest difference of its twins."""
    rows: dict[tuple[str, str], list[Twin]] = defaultdict(list)
    for twin in find_twins(read_records(root)):
        rows[twin.protocol, twin.differs].append(twin)
    lines = [
        "| protocol | what differs | twins | equal | largest difference | SD over seeds | in SDs |",
        "|---|---|---|---|---|---|---|",
    ]
    for (protocol, differs), twins in sorted(rows.items(), key=lambda row: (row[0][1], row[0][0])):
        known = [twin for twin in twins if twin.share_of_sd is not None]
        worst = max(known or twins, key=lambda twin: (twin.share_of_sd or 0.0, twin.difference))
        equal = sum(twin.first == twin.second for twin in twins)
        share = worst.share_of_sd
        deviation = f"{stdev(worst.seeds):.2g} (n = {len(worst.seeds)})" if len(worst.seeds) > 1 else "–"
        cells = (
            protocol,
            differs,
            len(twins),
            equal,
            f"{worst.difference:.2g} of {worst.first:.4g} ({worst.quantity}, `{worst.experiment}`)",
            deviation,
            "–" if share is None else f"{share:.2g}",
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"
