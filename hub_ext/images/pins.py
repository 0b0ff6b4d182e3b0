"""The digest that pins a Python environment, and the check that it still holds.

A pin says which distributions a prefix has, by the hash of each RECORD. It does not read every
file again: whoever may write into a prefix can change a file behind its RECORD.
"""

import hashlib
import subprocess
import threading
import time
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import ValidationError

from ..errors import RefusedError, UnpinnableError
from ..i18n import _
from ..lease import Environment, Value
from .owners import check_writers

TIMEOUT_S = 20.0
"""How long a prefix's Python may take to answer: a cold network disk with 300 distributions."""

_SETTLED_NS = 100_000_000
"""A file changed less than this ago may change again within one tick of the file system's clock."""

_Stamps = tuple[tuple[int, ...] | None, ...]


class _Report(Value):
    """What `probe.py` prints."""

    python: str
    platform: str
    lines: tuple[str, ...]
    faults: tuple[tuple[Literal["editable", "foreign", "broken"], str], ...]
    watch: tuple[str, ...]


class _Measured(NamedTuple):
    """A digest, and the files whose stamps vouch for it."""

    digest: str
    watch: tuple[Path, ...]
    stamps: _Stamps


class Pins:
    """Measures prefixes and compares them with their pins. Safe to call from several threads.

    Parameters
    ----------
    base
        Directory at which relative prefixes start: the policy file's.
    state
        What `${GPU_COMMONS_STATE}` in a prefix stands for.
    timeout_s
        Most seconds that one prefix may take to answer.
    """

    def __init__(
        self,
        *,
        base: Path | None = None,
        state: Path | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._base = base or Path()
        self._state = state
        self._timeout_s = timeout_s
        self._known: dict[Path, _Measured] = {}
        self._locks: dict[Path, threading.Lock] = {}
        self._lock = threading.Lock()

    def located(self, environment: Environment) -> Environment:
        """Return the environment with an absolute prefix; images stay as they are."""
        if environment.prefix is None:
            return environment
        text = environment.prefix
        if self._state is not None:
            text = text.replace("${GPU_COMMONS_STATE}", str(self._state))
        # `resolve` would follow a link that an administrator moves to switch environments.
        return environment.model_copy(update={"prefix": str((self._base / text).absolute())})

    def check(self, environment: Environment) -> None:
        """Pass where the environment is what its pin says. Images are pulled by digest anyway.

        Raises
        ------
        RefusedError
            `environment-drifted` when it changed, `environment-unusable` when it cannot be read;
            both with what was pinned and what was found.
        """
        where = self.located(environment).prefix
        if where is None:
            return
        try:
            found = self.digest(Path(where))
        except UnpinnableError as error:
            raise RefusedError(
                "environment-unusable",
                _(
                    "The environment {name} cannot be used: {why} "
                    "Ask the people who keep the policy to restore it, or choose another project."
                ).format(name=environment.name, why=error),
                figures={"pinned": environment.digest, "found": "none", "prefix": where},
            ) from error
        if found != environment.digest:
            raise RefusedError(
                "environment-drifted",
                _(
                    "The environment {name} is no longer what was agreed: pinned is {pinned}, "
                    "found is {found} in {prefix}. Ask the people who keep the policy to restore "
                    "it, or to pin what `gpu-commons env digest {prefix}` prints."
                ).format(
                    name=environment.name, pinned=environment.digest, found=found, prefix=where
                ),
                figures={"pinned": environment.digest, "found": found, "prefix": where},
            )

    def digest(self, prefix: Path) -> str:
        """Measure a prefix, or repeat the last digest while no watched file has changed.

        Raises
        ------
        UnpinnableError
            When there is no digest to tell, in words.
        """
        with self._lock:
            lock = self._locks.setdefault(prefix, threading.Lock())
        with lock:
            known = self._known.get(prefix)
            if known is not None and _stamps(known.watch) == known.stamps:
                return known.digest
            self._known.pop(prefix, None)
            asked_ns = time.time_ns()
            measured = _measured(prefix, _ask(prefix, self._timeout_s))
            if _settled(measured.stamps, asked_ns):
                self._known[prefix] = measured
            return measured.digest


_PINS = Pins()


def digest(prefix: Path) -> str:
    """Return `sha256:…` over `python X.Y.Z platform` and each `name==version sha256(RECORD)`.

    Raises
    ------
    UnpinnableError
        When the prefix is missing, is slow, holds an editable install, is broken, or can be
        written by others than this process's user and root.
    """
    return _PINS.digest(prefix)


def _ask(prefix: Path, timeout_s: float) -> _Report:
    python = prefix / "bin" / "python"
    if not python.exists():
        raise UnpinnableError(
            _("there is no Python at {path}; name the directory that holds bin/python.").format(
                path=python
            )
        )
    check_writers(prefix)
    source = files(__package__).joinpath("probe.py").read_text("utf-8")
    try:
        done = subprocess.run(  # noqa: S603 - the prefix comes from the policy, no shell is involved
            [python, "-I", "-B", "-c", source],
            cwd="/",
            env={"PATH": "/usr/bin:/bin"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise UnpinnableError(
            _("{python} did not answer within {seconds} s.").format(
                python=python, seconds=f"{timeout_s:g}"
            )
        ) from None
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise UnpinnableError(
            _("{python} failed: {words}.").format(python=python, words=last[:200])
        ) from None
    except OSError as error:
        raise UnpinnableError(
            _("{python} does not run: {words}.").format(python=python, words=error.strerror)
        ) from None
    try:
        return _Report.model_validate_json(done.stdout)
    except ValidationError:
        raise UnpinnableError(
            _("{python} does not answer as a Python does.").format(python=python)
        ) from None


def _measured(prefix: Path, report: _Report) -> _Measured:
    if report.faults:
        raise UnpinnableError(_fault_words(report.faults))
    watch = tuple(dict.fromkeys([prefix / "bin" / "python", *map(Path, report.watch)]))
    lines = [f"python {report.python} {report.platform}", *sorted(report.lines)]
    text = "".join(f"{line}\n" for line in lines)
    return _Measured(
        digest=f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
        watch=watch,
        stamps=_stamps(watch),
    )


def _fault_words(faults: tuple[tuple[str, str], ...]) -> str:
    words = {
        "editable": _("{what} is an editable install, which changes unseen; install it without -e"),
        "foreign": _(
            "{what} is put on the import path by a .pth but holds no installed distribution"
        ),
        "broken": _("{what} does not say its name and version; install that distribution again"),
    }
    return "; ".join(words[kind].format(what=what) for kind, what in faults[:5]) + "."


def _stamps(paths: tuple[Path, ...]) -> _Stamps:
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        seen = path.stat()
    except OSError:
        return None
    return (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)


def _settled(stamps: _Stamps, asked_ns: int) -> bool:
    """Whether nothing changed so late that the probe may have missed it."""
    newest = max((max(stamp[0], stamp[1]) for stamp in stamps if stamp), default=0)
    return newest + _SETTLED_NS < asked_ns
