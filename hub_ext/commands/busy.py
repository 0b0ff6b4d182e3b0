"""`gpu-commons busy`: keep the simulated GPU of this server busy for a while.

It writes what the GPU shall show, and burns CPU only when told to. Outside a server with a
simulated GPU it does nothing.
"""

import argparse
import hashlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

from ..errors import GpuCommonsError, UnitError
from ..i18n import _
from ..lease import FaultSign
from ..telemetry.load import Load, parse, read
from ..units import bytes_text, duration_text, parse_bytes, parse_duration

BEAT_S = 0.5
_SLICE_S = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--gpu", type=_percent, default=80, help=_("utilisation to show, 0 to 100"))
    parser.add_argument(
        "--memory", type=_memory, default=0, help=_("GPU memory to show, such as 20GiB")
    )
    parser.add_argument("--cpu", type=_cores, default=0.0, help=_("CPU cores to burn, such as 0.5"))
    parser.add_argument(
        "--for", dest="span", type=_span, default=timedelta(minutes=5), help=_("how long, as in 5m")
    )
    parser.add_argument(
        "--fault",
        type=_fault,
        metavar="ecc|xidN",
        help=_("let the GPU show a fault, which takes it out of service: ecc, or an Xid as xid79"),
    )
    parser.add_argument(
        "--unknown", action="store_true", help=_("make the GPU's figures absent instead")
    )


def run(args: argparse.Namespace) -> int:
    """Stay busy until the time is over or somebody stops it.

    Raises
    ------
    GpuCommonsError
        This process has no simulated GPU.
    """
    path = _load_file()
    started, end = time.monotonic(), time.monotonic() + args.span.total_seconds()
    until = datetime.now(UTC) + args.span
    print(_headline(args), flush=True)
    with _ended_by_signals(), _burning(args.cpu):
        try:
            while (left := end - time.monotonic()) > 0:
                _write(path, _load(args, until))
                _progress(left)
                time.sleep(min(BEAT_S, left))
        except KeyboardInterrupt:
            pass
        finally:
            _take_away(path)
    spent = timedelta(seconds=round(time.monotonic() - started))
    print(_("\rDone after {span}; the GPU rests.").format(span=duration_text(spent)))
    return 0


def _load_file() -> Path:
    named = os.environ.get("GPU_COMMONS_SIM_FILE")
    if not named:
        raise GpuCommonsError(
            _(
                "This works only inside a server with a simulated GPU, and here is none "
                "(GPU_COMMONS_SIM_FILE is not set). Start a GPU profile on a hub whose GPUs are "
                "simulated, and run it in a terminal there."
            )
        )
    return Path(named)


def _load(args: argparse.Namespace, until: datetime) -> Load:
    return Load(
        util_percent=None if args.unknown else args.gpu,
        memory_bytes=None if args.unknown else args.memory,
        until=until,
        beat_at=datetime.now(UTC),
        beat_s=BEAT_S,
        writer=os.getpid(),
        fault=args.fault,
    )


def _write(path: Path, load: Load) -> None:
    """Replace the file in one step, so that a reader never sees half of it."""
    draft = path.with_name(f".{path.name}.{load.writer}")
    try:
        draft.write_text(load.model_dump_json(), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise GpuCommonsError(
            _("The simulated GPU's file {path} cannot be written: {why}").format(
                path=path, why=error.strerror
            )
        ) from error


def _take_away(path: Path) -> None:
    """Remove the file unless another `busy` has taken over meanwhile."""
    path.with_name(f".{path.name}.{os.getpid()}").unlink(missing_ok=True)
    with suppress(OSError):
        load = parse(read(path) or b"")
        if load is not None and load.writer == os.getpid():
            path.unlink()


def _headline(args: argparse.Namespace) -> str:
    if args.unknown:
        shows = _("The simulated GPU shows no figures")
    else:
        shows = _("The simulated GPU shows {percent} % and {memory}").format(
            percent=args.gpu, memory=bytes_text(args.memory)
        )
    return _("{shows} for {span}; {cores} CPU cores are really busy. Ctrl-C ends it.").format(
        shows=shows, span=duration_text(args.span), cores=f"{args.cpu:g}"
    )


def _progress(left_s: float) -> None:
    if sys.stdout.isatty():
        left = duration_text(timedelta(seconds=round(left_s)))
        print(_("\r{left} left").format(left=left).ljust(24), end="", flush=True)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a closed terminal and a stopped server end it as Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def _burning(cores: float) -> Iterator[None]:
    """Use so much CPU meanwhile. Threads suffice: hashing runs outside the interpreter's lock."""
    stop = threading.Event()
    shares = [1.0] * int(cores) + ([cores % 1] if cores % 1 else [])
    threads = [threading.Thread(target=_burn, args=(share, stop), daemon=True) for share in shares]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=1)


def _burn(share: float, stop: threading.Event) -> None:
    """Keep this thread's CPU at a share of the time since it began, also beside other work."""
    chunk = bytes(2**16)
    began, spent_at_start = time.monotonic(), time.thread_time()
    while not stop.is_set():
        hashlib.sha256(chunk).digest()
        spent = time.thread_time() - spent_at_start
        if (ahead := spent - share * (time.monotonic() - began)) > _SLICE_S:
            stop.wait(ahead / share)


def _percent(text: str) -> int:
    if not text.isdecimal() or int(text) > 100:  # noqa: PLR2004 - a percentage
        raise argparse.ArgumentTypeError(_("write a whole number from 0 to 100"))
    return int(text)


def _fault(text: str) -> FaultSign:
    found = re.fullmatch(r"ecc|xid(\d{1,4})", text)
    if found is None:
        raise argparse.ArgumentTypeError(_("write ecc, or xid and a number, such as xid79"))
    kind, code = ("xid", int(found[1])) if found[1] else ("ecc", 1)
    sign = {"kind": kind, "code": code, "since": datetime.now(UTC)}
    return FaultSign.model_validate(sign)


def _cores(text: str) -> float:
    most = os.cpu_count() or 1
    with suppress(ValueError):
        if 0 <= (value := float(text)) <= most:
            return value
    raise argparse.ArgumentTypeError(_("write a number from 0 to {most}").format(most=most))


def _memory(text: str) -> int:
    try:
        return parse_bytes(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _span(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
