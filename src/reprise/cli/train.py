"""One replica of one experiment."""

import argparse
import logging
from dataclasses import replace
from pathlib import Path

from reprise.errors import UserError
from reprise.files import entry_exists, read_whole, require_place, write_atomically
from reprise.records.content import require_owner
from reprise.records.record import load_record, write_record
from reprise.records.resolved import Resolved, read_resolved
from reprise.training.devices import claim_gpu, count_gpus_needed, count_visible_gpus, prepare_environment

_LOG = logging.getLogger(__name__)
_ANOTHER = "name another file with --output"


def train_command(options: argparse.Namespace) -> None:
    """Train one replica of one experiment (or run a check) and leave its run record.

    A run that is stopped (SIGTERM, SIGINT, SIGHUP) saves its state and exits 75. The same command goes on from there
    to the same numbers. A replica that another process trains exits 75 too, and names that process. The state is saved
    every 30 seconds besides, for power cuts and kill -9; REPRISE_SAVE_SECONDS sets another number.
    """
    prepare_environment()
    resolved = _find_resolved(options)
    if options.weights:
        resolved = replace(resolved, weights=options.weights)
    _require_hash(resolved, options)
    if options.replica >= resolved.replicas:
        replicas = f"replicas 0 to {resolved.replicas - 1}" if resolved.replicas > 1 else "replica 0 alone"
        _LOG.warning("note: the tier %s has %s; this record is not collected", resolved.tier, replicas)
    output = options.output or Path(resolved.get_record_path(options.replica))
    trained = options.trained / resolved.get_record_path(options.replica) if options.trained else None
    if trained is not None and entry_exists(trained) and not (output.exists() and output.samefile(trained)):
        _move_record(resolved, options.replica, trained, output)
        print(f"{output}: moved from {options.trained}")
        return
    if entry_exists(output):
        if options.output:  # a file of the user's choice may be whole, and of something else
            record, remedy = load_record(output, remedy=_ANOTHER), "name another file"
            require_owner(record, f"--output {output}", resolved, options.replica, remedy)
        else:
            load_record(output, resolved, options.replica)
        file = "another FILE" if options.output else "FILE"
        print(f"{output}: already there; nothing to train (--output {file} trains it again)")
        return
    corpus = _find_corpus(resolved, options.corpus)
    require_place(output, f"--output {output}" if options.output else str(output))
    device = options.device or resolved.device
    if device != "cpu" and (visible := count_visible_gpus()) > 1 and count_gpus_needed(resolved, visible):
        claim_gpu(visible)
    # torch takes seconds to import: only once the input is known to be good.
    from reprise.training.jobs import run_jobs
    from reprise.training.torch_state import use_torch_settings
    from reprise.training.trainer import Job

    engine = options.engine or resolved.engine
    with use_torch_settings(options.threads):
        run_jobs([Job(resolved, options.replica, output, corpus, engine, device, wait=options.wait)])
    print(f"{output}: done")


def _require_hash(resolved: Resolved, options: argparse.Namespace) -> None:
    """Raise `UserError` unless the configuration is the one that is asked for, if one is.

    Whoever reads config/ while a pipeline runs, `snakemake -n` for example, writes resolved configurations anew.
    """
    if options.hash not in (None, resolved.config_hash):
        raise UserError(
            f"{options.config or 'config/'}: the hash of {resolved.id} is {resolved.config_hash}, not {options.hash}: "
            "the configuration was changed while the pipeline ran; run it again"
        )


def _find_corpus(resolved: Resolved, stated: Path | None) -> Path | None:
    """Find the prepared corpus that the experiment reads: the stated one, or where the pipeline puts it."""
    corpus = stated or (Path(resolved.corpus) if resolved.corpus else None)
    if corpus is not None and not corpus.is_file():
        dataset = resolved.config["data"]["dataset"]
        remedy = f"run `python -m reprise prepare {resolved.id} --tier {resolved.tier}`"
        raise UserError(f"{corpus}: no such corpus; {remedy} ({dataset})")
    return corpus


def _move_record(resolved: Resolved, replica: int, record: Path, output: Path) -> None:
    """Move a record and its weights to their new place."""
    move_weights(resolved, replica, record, output)
    write_record(output, load_record(record, resolved, replica))
    record.unlink()  # so that whoever removes the record later has it trained again


def move_weights(resolved: Resolved, replica: int, record: Path, output: Path) -> None:
    """Move what weights lie with a record, so that they lie with the record's new place."""
    old, new = resolved.find_weights(replica, record), resolved.find_weights(replica, output)
    if old.is_file():
        write_atomically(new, read_whole(old))
        old.unlink()


def _find_resolved(options: argparse.Namespace) -> Resolved:
    if options.config is not None:
        resolved = read_resolved(options.config)
        if resolved.id != options.experiment:
            raise UserError(
                f"{options.config}: is of '{resolved.id}', not of '{options.experiment}'; name its experiment"
            )
        return resolved
    try:
        from reprise.cli.common import find_experiment
    except ModuleNotFoundError as error:
        raise UserError(
            f"--config is needed where {error.name} is not installed: name a file that `reprise resolve` wrote"
        ) from None
    return find_experiment(options.tier, options.experiment)[1]
