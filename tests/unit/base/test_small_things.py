"""Files, devices, units, the command line."""

import csv
import io
import json
import logging
import math
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pandas as pd
import pytest
from experiment_helpers import DIGITS, experiment

from reprise import cli
from reprise.cli.common import make_console, make_table
from reprise.errors import make_printable
from reprise.files import atomic_path, escape_formula, write_if_changed, write_json
from reprise.records.resolved import Resolved
from reprise.report.page.cards import make_command
from reprise.report.parts.tables import Table
from reprise.training.devices import count_gpus_needed, count_visible_gpus, list_gpus
from reprise.units import convert_to_bits, convert_to_perplexity


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_file_has_the_mode_of_the_umask_also_where_threads_write(tmp_path):
    before = os.umask(0o077)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda i: write_if_changed(tmp_path / f"{i}", "x"), range(200)))
        assert os.umask(0o077) == 0o077
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize(
    ("options", "printed"), [(["--quiet"], "E"), ([], "IWE"), (["--verbose"], "DIWE"), (["--quiet", "--verbose"], None)]
)
def test_quiet_and_verbose_set_the_level_of_the_log(monkeypatch, capsys, options, printed):
    log = logging.getLogger("reprise.any.module")

    def command(_: object) -> None:
        print("a result")
        for level, letter in zip((logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR), "DIWE", strict=True):
            log.log(level, "%s", letter)

    monkeypatch.setattr(cli, "_load_function", lambda _: command)
    status = cli.main(["list", *options])
    shown = capsys.readouterr()
    assert status == (2 if printed is None else 0)
    assert printed is None or "".join(shown.err.split()) == printed
    assert bool(shown.out) == (options in ([], ["--verbose"]))


@pytest.mark.parametrize("variable", [True, False])
def test_debug_shows_the_traceback_of_an_error_and_of_its_cause(tmp_path, monkeypatch, capsys, variable):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REPRISE_DEBUG", raising=False)
    command = ["resolve", "--tier", "quick"]
    assert cli.main(command) == 2
    assert "Traceback" not in capsys.readouterr().err
    if variable:
        monkeypatch.setenv("REPRISE_DEBUG", "1")
    assert cli.main(command if variable else [*command, "--debug"]) == 2
    shown = capsys.readouterr().err
    assert shown.count("Traceback") == 2
    assert "FileNotFoundError" in shown
    assert shown.splitlines()[-1].startswith("reprise: error: ")


@pytest.mark.parametrize("text", ["=1+1", "=HYPERLINK(0)", "+A1", "\t=1", "@A1", "-A1", "-1+A1"])
def test_no_cell_of_a_csv_file_is_a_formula(text):
    frame = pd.DataFrame({"name": ["a = b", text], "value": [-1.5, math.nan], "n": [1, 2]})
    table = Table([], frame)
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert rows == [{"name": "a = b", "value": "-1.5", "n": "1"}, {"name": f"'{text}", "value": "", "n": "2"}]
    assert [escape_formula(value) for value in (-1.5, "-1.5", text)] == [-1.5, "-1.5", f"'{text}"]


def test_write_if_changed_keeps_the_time(tmp_path):
    path = tmp_path / "a.txt"
    assert write_if_changed(path, "x")
    stamp = path.stat().st_mtime_ns
    assert not write_if_changed(path, "x")
    assert path.stat().st_mtime_ns == stamp
    assert write_if_changed(path, "y")
    path.write_bytes(b"\xff")  # no text at all
    assert write_if_changed(path, "é")
    assert path.read_bytes() == "é".encode()


def test_json_keeps_its_content_and_lists_of_numbers_on_a_line_and_refuses_nan(tmp_path):
    value = {"x": [1, -2.5, 1e-30], "s": "[\n1, 2\n]", "e": [], "n": [[1, 2], ["a", 1]], "d": {"y": [3]}}
    write_json(tmp_path / "a.json", value)
    text = (tmp_path / "a.json").read_text()
    assert json.loads(text) == value
    assert '"x": [1, -2.5, 1e-30]' in text
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"a": math.inf})


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """One whose driver, device files and `nvidia-smi` a test makes; none of them is there."""
    for name in ("CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("reprise.training.devices.shutil.which", lambda name: None)
    monkeypatch.setattr("reprise.training.devices.DRIVER", tmp_path / "gpus")
    monkeypatch.setattr("reprise.training.devices.DEVICE_FILES", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("value", "names"),
    [("", []), ("-1", []), ("0", ["0"]), ("0,2", ["0", "2"]), ("GPU-8f2, MIG-1,-1,GPU-1", ["GPU-8f2", "MIG-1"])],
)
def test_gpus_named_by_the_environment(machine, monkeypatch, value, names):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    assert count_visible_gpus() == len(names)
    assert list_gpus(2) == (names or ["0", "1"])  # torch may see what nothing shows: then they are numbers


def test_gpus_shown_by_their_device_files_or_by_the_driver(machine):
    for name in ("nvidiactl", "nvidia-uvm", "null"):
        (machine / name).touch()
    assert count_visible_gpus() == 0
    (machine / "nvidia0").touch()
    assert count_visible_gpus() == 1
    for name in ("0000:01:00.0", "0000:02:00.0"):
        (machine / "gpus" / name).mkdir(parents=True)
    assert count_visible_gpus() == 2


def test_gpus_told_by_nvidias_command_but_in_a_job_of_slurm_only_its_own(machine, monkeypatch):
    """A node may show GPUs that were given to other jobs."""
    monkeypatch.setattr("reprise.training.devices.shutil.which", lambda name: "nvidia-smi")
    shown = subprocess.CompletedProcess([], 0, "GPU 0: A\nGPU 1: B\n", "")
    monkeypatch.setattr("reprise.processes.subprocess.run", lambda *_, **__: shown)
    assert count_visible_gpus() == 2
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert count_visible_gpus() == 0
    for value, count in (("NoDevFiles", 0), ("0", 1)):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
        assert count_visible_gpus() == count


@pytest.mark.parametrize(
    ("protocol", "device", "visible", "gpus"),
    [
        ("final-digit", "auto", 2, 1),
        ("final-digit", "auto", 0, 0),
        ("final-digit", "cpu", 2, 0),
        ("subsequence-sgd", "auto", 2, 1),
        ("ngram", "auto", 2, 0),
    ],
)
def test_a_gpu_is_asked_for_only_where_it_is_of_use(protocol, device, visible, gpus):
    training = {"training": {"protocol": protocol, "options": {}}}
    one = replace(experiment("e", DIGITS, None), config=DIGITS | training, device=device)
    assert count_gpus_needed(one, visible) == gpus
    assert count_gpus_needed(replace(one, config={"check": "c"}), visible) == 0


def test_gpus_are_found_without_torch():
    code = "import sys, reprise.training.devices as d; d.count_visible_gpus(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_units():
    assert convert_to_bits(math.log(2)) == pytest.approx(1)
    assert convert_to_perplexity(math.log(50)) == pytest.approx(50)
    assert convert_to_perplexity(1e9) == math.inf


def test_schemas_are_written_in_a_clone_alone_or_into_the_folder_that_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["schemas"]) == 2
    assert "root of the clone" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
    for word in ("written", "unchanged"):
        assert cli.main(["schemas", "--folder", "there"]) == 0
        assert capsys.readouterr().out.count(f".schema.json: {word}\n") == len(os.listdir("there")) > 1
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").touch()
    assert cli.main(["schemas"]) == 0
    assert sorted(os.listdir("workflow/schemas")) == sorted(os.listdir("there"))


@pytest.mark.parametrize("code", ["\x1b[2J", "\x9b5n", "\x07", "\r", "\u202e", "\x00"])
def test_no_text_of_a_file_steers_the_terminal(code, capsys):
    out = make_console()
    out.print(f"a{code}b")
    out.print(make_table(("head",), [(f"a{code}b",)], f"t{code}"))
    assert code not in capsys.readouterr().out + make_printable(code)
    assert make_printable("é ∂ 語\n\t") == "é ∂ 語\n\t"


def test_a_printed_command_runs_nothing_but_itself():
    experiment = Resolved("p", "e", "quick", "t", 1, {}, {}, None)
    words = shlex.split(make_command(experiment, (0, "fused; rm -rf $HOME #")).splitlines()[0])
    assert words[words.index("--engine") + 1] == "fused; rm -rf $HOME #"


def test_a_printed_command_names_an_engine_that_there_is():
    experiment = Resolved("p", "e", "quick", "t", 1, {}, {}, None)
    assert "--engine reference" in make_command(experiment, (0, "layerwise"))
