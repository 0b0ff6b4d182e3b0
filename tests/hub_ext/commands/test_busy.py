"""`busy` shows a load while it runs, burns the CPU it is told to, and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from hub_ext.cli import main
from hub_ext.telemetry.load import Load, parse

ROOT = Path(__file__).parents[3]
GIB = 2**30


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lease-1.json"


@pytest.fixture
def busy(file: Path) -> Iterator[Callable[..., psutil.Popen]]:
    made: list[psutil.Popen] = []

    def start(*arguments: str) -> psutil.Popen:
        process = psutil.Popen(
            [sys.executable, "-P", "-m", "hub_ext", "busy", *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), "GPU_COMMONS_SIM_FILE": str(file)},
            stdout=subprocess.PIPE,
            text=True,
        )
        made.append(process)
        return process

    yield start
    for process in made:
        if process.poll() is None:
            process.kill()
        process.communicate()


def load_in(file: Path) -> Load:
    """Wait for a load to be shown."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if file.exists() and (load := parse(file.read_bytes())):
            return load
        time.sleep(0.02)
    pytest.fail("no load was shown")


def test_a_load_is_shown_and_taken_away(file: Path, busy: Callable[..., psutil.Popen]) -> None:
    process = busy("--gpu", "80", "--memory", "20GiB", "--for", "1s")
    load = load_in(file)
    assert (load.util_percent, load.memory_bytes) == (80, 20 * GIB)
    assert (load.until - load.beat_at).total_seconds() <= 1
    said, _none = process.communicate(timeout=10)
    assert process.returncode == 0
    assert said.startswith(
        "The simulated GPU shows 80 % and 20GiB for 1s; "
        "0 CPU cores are really busy. Ctrl-C ends it."
    )
    assert said.rstrip().endswith("Done after 1s; the GPU rests.")
    assert list(file.parent.iterdir()) == []


def test_it_says_again_and_again_that_it_lives(
    file: Path, busy: Callable[..., psutil.Popen]
) -> None:
    busy("--for", "1m")
    first = load_in(file)
    end = time.monotonic() + 10
    while load_in(file).beat_at == first.beat_at and time.monotonic() < end:
        time.sleep(0.05)
    assert load_in(file).beat_at > first.beat_at


def test_unknown_has_no_figures(file: Path, busy: Callable[..., psutil.Popen]) -> None:
    busy("--unknown", "--for", "1m")
    load = load_in(file)
    assert (load.util_percent, load.memory_bytes) == (None, None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_cleans_up_when_it_is_stopped(
    file: Path, busy: Callable[..., psutil.Popen], number: int
) -> None:
    process = busy("--for", "1m")
    load_in(file)
    process.send_signal(number)
    process.communicate(timeout=10)
    assert process.returncode == 0
    assert list(file.parent.iterdir()) == []


def test_another_load_is_left_alone(file: Path, busy: Callable[..., psutil.Popen]) -> None:
    process = busy("--gpu", "10", "--for", "1m")
    load_in(file)
    # The first is held, so that it cannot say again that it lives once the second has written.
    process.suspend()
    second = busy("--gpu", "20", "--for", "1m")
    while load_in(file).writer != second.pid:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.resume()
    process.communicate(timeout=10)
    time.sleep(0.7)
    assert load_in(file).util_percent == 20


@pytest.mark.parametrize(("cores", "least", "most"), [("0", 0.0, 0.1), ("0.5", 0.1, 0.75)])
def test_only_the_cpu_it_is_told_to_is_burnt(
    file: Path, busy: Callable[..., psutil.Popen], cores: str, least: float, most: float
) -> None:
    process = busy("--cpu", cores, "--for", "1m")
    load_in(file)
    time.sleep(0.2)
    before, began = sum(process.cpu_times()[:2]), time.monotonic()
    time.sleep(1.5)
    share = (sum(process.cpu_times()[:2]) - before) / (time.monotonic() - began)
    assert least <= share <= most


def test_outside_a_simulated_server_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GPU_COMMONS_SIM_FILE", raising=False)
    assert main(["busy", "--for", "1s"]) == 1
    assert "works only inside a server with a simulated GPU" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPU_COMMONS_SIM_FILE", str(tmp_path / "gone" / "l.json"))
    assert main(["busy", "--for", "1s"]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gpu", "101"], "write a whole number from 0 to 100"),
        (["--gpu", "-1"], "write a whole number from 0 to 100"),
        (["--cpu", "many"], "write a number from 0 to"),
        (["--cpu", "nan"], "write a number from 0 to"),
        (["--memory", "20"], "is no amount of memory"),
        (["--for", "soon"], "is no duration"),
    ],
)
def test_rubbish_is_answered_with_what_to_write(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["busy", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(("text", "told"), [("ecc", ("ecc", 1)), ("xid79", ("xid", 79))])
def test_a_fault_is_shown_on_purpose(
    file: Path, busy: Callable[..., psutil.Popen], text: str, told: tuple[str, int]
) -> None:
    busy("--fault", text, "--for", "1m")
    fault = load_in(file).fault
    assert fault is not None
    assert (fault.kind, fault.code) == told


def test_a_fault_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["busy", "--fault", "fire"])
    assert "write ecc, or xid and a number" in capsys.readouterr().err
