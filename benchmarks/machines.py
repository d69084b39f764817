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

from benchmarks.table import make_line, make_table
from reprise.evidence.numbers import list_numbers
from reprise.records.record import read_record

FOLDERS = ("results/paper/runs", "results/reduced/runs", "results/machines")
NUMBERS = (
    ("cross_entropy", "test", "test loss"),
    ("cross_entropy", "test1", "test loss"),
    ("log_loss", "test", "test loss"),
    ("final_cross_entropy", "train", "training loss at the end"),
    ("last_ten_cross_entropy", "train", "training loss at the end"),
    ("accuracy_at_72", "test", "names recalled over 72 words"),
)
"""What is compared of a training: the first of these that its record has."""

_COLUMNS = (
    *("protocol", "what differs", "pairs", "equal to the last bit", "one diverged"),
    *("largest difference", "SD over seeds", "in SDs"),
)


class Twin(NamedTuple):
    """Two records of one replica that were not made alike."""

    protocol: str
    experiment: str
    differs: str
    equal: bool  # to the last bit, curves and all
    first: float | None  # None of both where one of the trainings diverged
    second: float | None
    quantity: str
    seeds: Sequence[float]

    @property
    def difference(self) -> float:
        """Return by how much the numbers differ; 0 where there are none."""
        return 0.0 if self.first is None else abs(self.first - self.second)

    @property
    def share_of_sd(self) -> float | None:
        """Return the difference in SDs over seeds; None where fewer than two seeds, or equal ones, are at hand."""
        deviation = stdev(self.seeds) if len(self.seeds) > 1 else 0.0
        return self.difference / deviation if deviation else None


def read_records(root: Path) -> list[dict[str, Any]]:
    """Read all records that may have a twin."""
    return [read_record(path) for folder in FOLDERS for path in sorted((root / folder).rglob("*.json"))]


def get_torch_release(run: Mapping[str, Any]) -> str:
    """Return the release of torch, without its build."""
    return run["versions"]["torch"].partition("+")[0]


def parse_release(run: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the release of torch as numbers, which have an order."""
    return tuple(map(int, get_torch_release(run).split(".")))


def describe_difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Say what differs between the machines of two records: torch, processor, engine, or nothing."""
    pairs = (
        ("torch", get_torch_release(first), get_torch_release(second)),
        ("processor", get_processor(first), get_processor(second)),
        ("engine", first["engine"], second["engine"]),
    )
    return ", ".join(f"{name} {one} and {other}" for name, one, other in pairs if one != other)


def get_processor(run: Mapping[str, Any]) -> str:
    """Return the maker of a processor, or a GPU's name."""
    device = run["device"]
    return next((maker for maker in ("AMD", "Intel") if maker in device), device)


def find_twins(records: Iterable[dict[str, Any]]) -> Iterator[Twin]:
    """Yield every pair of records of one replica that were made on two machines; of equal ones the first counts."""
    groups: dict[tuple[str, ...], dict[tuple[Any, ...], dict[str, Any]]] = defaultdict(dict)
    for record in records:
        if "training" in record["config"]:
            machine = parse_release(record["run"]), get_processor(record["run"]), record["run"]["engine"]
            group = groups[record["paper"], record["experiment"], record["config_hash"]]
            group.setdefault((record["replica"], *machine), record)
    for (paper, experiment, _), group in groups.items():
        work = get_amount_of_work(next(iter(group.values())))
        base = [
            r
            for key, records_of_group in groups.items()
            if key[:2] == (paper, experiment.split("@")[0])
            for r in records_of_group.values()
            if get_amount_of_work(r) == work
        ]
        # The older torch first, and the makers of processors in one order, so that like pairs are counted together.
        for first, second in combinations([group[key] for key in sorted(group)], 2):
            one, other = index_numbers(first), index_numbers(second)
            statuses = {first["status"], second["status"]}
            differs, name = (
                describe_difference(first["run"], second["run"]),
                next((n for n in NUMBERS if n[:2] in one), None),
            )
            if first["replica"] != second["replica"] or not differs or (name is None and len(statuses) == 1):
                continue
            protocol, equal = first["config"]["training"]["protocol"], first["result_sha256"] == second["result_sha256"]
            if len(statuses) > 1 or name is None:
                yield Twin(protocol, f"{paper}/{experiment}", differs, equal, None, None, "", ())
                continue
            seed_values = (
                list_seed_values(r, reference, name)
                for r in (list(group.values()), base)
                for reference in (first, second)
            )
            values = one[name[:2]], other[name[:2]]
            yield Twin(protocol, f"{paper}/{experiment}", differs, equal, *values, name[2], max(seed_values, key=len))


def get_amount_of_work(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a training reads and for how long: replicas of another tier say nothing about its SD."""
    options = record["config"]["training"].get("options", {})
    return record["config"].get("data"), options.get("max_epochs"), options.get("steps")


def index_numbers(record: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    """Return a record's numbers by metric and split."""
    return {(entry["metric"], entry["split"]): entry["value"] for entry in list_numbers(record)}


def list_seed_values(
    records: Iterable[dict[str, Any]], reference: Mapping[str, Any], name: tuple[str, ...]
) -> list[float]:
    """Return a number of every replica that was made on a machine like that of a record."""
    values: dict[int, float] = {}
    for record in records:
        if not describe_difference(record["run"], reference["run"]):
            entries = index_numbers(record)
            if name[:2] in entries:
                values.setdefault(record["replica"], entries[name[:2]])
    return list(values.values())


def make_machines_table(root: Path) -> str:
    """Return a row for each protocol and each thing that differs, in Markdown: the largest difference of its twins."""
    rows: dict[tuple[str, str], list[Twin]] = defaultdict(list)
    for twin in find_twins(read_records(root)):
        rows[twin.protocol, twin.differs].append(twin)
    lines = make_table(*_COLUMNS)
    for (protocol, differs), twins in sorted(rows.items(), key=lambda row: (row[0][1], row[0][0])):
        finite_twins = [twin for twin in twins if twin.first is not None]
        worst = max(finite_twins or twins, key=lambda twin: (twin.share_of_sd or 0.0, twin.difference))
        equal = sum(twin.equal for twin in twins)
        share = worst.share_of_sd
        deviation = f"{stdev(worst.seeds):.2g} (n = {len(worst.seeds)})" if len(worst.seeds) > 1 else "–"
        cells = (
            protocol,
            differs,
            len(twins),
            equal,
            sum(twin.first is None for twin in twins),
            f"{worst.difference:.2g} of {worst.first:.4g} ({worst.quantity}, {worst.experiment})"
            if finite_twins
            else "–",
            deviation,
            "–" if share is None else f"{share:.2g}",
        )
        lines.append(make_line([str(cell) for cell in cells]))
    return "\n".join(lines) + "\n"
