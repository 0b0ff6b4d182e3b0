"""Checks of this machine: the packages, the state directory, its disk, the tokens, the clock."""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from ...errors import IntruderError
from ...i18n import _
from ...intruders import NAMES, intruder
from .findings import Finding, Look, ask, ok, warn, wrong

_SCARCE, _NONE_LEFT = 1 << 30, 100 << 20
"""Free bytes from which a ledger may stop to grow soon, and at once: a year is some 100 MB."""

_TOKEN = re.compile(r"[0-9a-f]{64}")
_TOKENS = {
    "governor": frozenset({"list:users", "read:servers", "delete:servers"}),
    "spawner": frozenset({"custom:gpu-commons:ask"}),
    "agent": frozenset({"custom:gpu-commons:samples"}),
    "cli": frozenset({"custom:gpu-commons:admin"}),
}
"""Token files, and scopes that each must hold. An agent elsewhere has its own."""

_OFF_S, _FAR_OFF_S = 5, 60


def packages(_look: Look) -> Iterator[Finding]:
    """Whether our names, and the driver's bindings, are answered by what they should be."""
    for name in NAMES:
        path = intruder(name)
        if path is not None:
            yield wrong(
                _("{name} is answered by {path}, a foreign package").format(name=name, path=path),
                _("rename or uninstall it"),
            )
    yield from _bindings()
    try:
        installed = version("configurable-http-proxy")
    except PackageNotFoundError:
        return
    yield warn(
        _("configurable-http-proxy {version} is the one of PyPI").format(version=installed),
        _("it holds progress back and cuts long answers; use the one of npm"),
    )


def _bindings() -> Iterator[Finding]:
    from ...telemetry.nvml import check_bindings  # noqa: PLC0415 - a look-alike would run here

    owners = packages_distributions().get("pynvml", [])
    try:
        check_bindings()
    except IntruderError as error:
        yield wrong(str(error), _("do as it says, in the hub's environment"))
        return
    if "pynvml" in owners:
        yield warn(
            _("the package pynvml is installed beside nvidia-ml-py"),
            _("`pip uninstall pynvml`; which of two wins is chance"),
        )
    else:
        yield ok(_("no foreign package answers to our names"))


def place(look: Look) -> Iterator[Finding]:
    """Whether the state directory is private, writable, and on a disk with room."""
    state = look.site.state
    status = state.stat()
    if stat.S_IMODE(status.st_mode) & 0o077:
        yield wrong(
            _("{path} can be read by others").format(path=state),
            _("chmod 700 it; tokens and charges are in there"),
        )
    free = shutil.disk_usage(state).free
    words = _("{n} MiB free for {path}").format(n=free >> 20, path=state)
    if free < _NONE_LEFT:
        yield wrong(words, _("make room: without a record nothing is granted"))
    elif free < _SCARCE:
        yield warn(words, _("make room soon"))
    else:
        yield ok(words)
    try:
        _write_once(state)
    except OSError as error:
        yield wrong(
            _("{path} cannot be written: {error}").format(path=state, error=error.strerror),
            _("run this as the hub's user; mend the disk where that is who you are"),
        )


def _write_once(state: Path) -> None:
    probe = state / f".doctor.{os.getpid()}"
    made = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(made, b"x" * 4096)
        os.fsync(made)
    finally:
        os.close(made)
        probe.unlink()


def tokens(look: Look) -> Iterator[Finding]:
    """Whether each token is private and the hub takes it for what it is needed for."""
    good = 0
    for name, needed in _TOKENS.items():
        file = look.site.state / "tokens" / name
        faults = list(_file_faults(file))
        if not faults and file.exists():
            faults = list(_hub_faults(look, file, needed))
            good += not faults
        yield from faults
    if good and look.hub_api is None:
        yield warn(
            _("{n} token files are private; whether the hub takes them was not asked").format(
                n=good
            ),
            _("run this again while the hub runs"),
        )
    elif good:
        yield ok(_("{n} tokens are private, and the hub takes them").format(n=good))


def _file_faults(file: Path) -> Iterator[Finding]:
    again = _("restart the hub; configure() makes it")
    try:
        mode, text = file.stat().st_mode, file.read_text("ascii").strip()
    except FileNotFoundError:
        # An agent on another machine has its token there.
        if file.name != "agent":
            yield wrong(_("there is no token {name}").format(name=file.name), again)
        return
    except (OSError, UnicodeDecodeError) as error:
        yield wrong(
            _("{path} cannot be read: {error}").format(path=file, error=error),
            _("run this as the hub's user"),
        )
        return
    if stat.S_IMODE(mode) & 0o077:
        yield wrong(
            _("{path} can be read by others").format(path=file),
            _("delete it and restart the hub: a new one is made; chmod alone does not undo it"),
        )
    if not _TOKEN.fullmatch(text):
        yield wrong(
            _("{path} holds no token of 64 hexadecimal characters").format(path=file),
            _("delete it and restart the hub: a new one is made"),
        )


def _hub_faults(look: Look, file: Path, needed: frozenset[str]) -> Iterator[Finding]:
    if look.hub_api is None:
        return
    answer = ask(f"{look.hub_api}/user", file.read_text("ascii").strip())
    if not isinstance(answer.body, dict) or answer.status != 200:  # noqa: PLR2004 - nothing else carries a model
        yield wrong(
            _("the hub answers {status} to the token {name}").format(
                status=answer.status or answer.words, name=file.name
            ),
            _("restart the hub, so that it reads the tokens again"),
        )
        return
    scopes = answer.body.get("scopes", [])
    held = {str(scope).partition("!")[0] for scope in scopes}
    for scope in sorted(needed - held):
        yield wrong(
            _("the token {name} lacks the scope {scope}").format(name=file.name, scope=scope),
            _("call configure() last in jupyterhub_config.py; load_roles was replaced after it"),
        )


def clock(look: Look) -> Iterator[Finding]:
    """Whether hub and governor have the same time as this command."""
    answers = {_("the governor's clock"): look.health}
    if look.hub_api is not None:
        answers[_("the hub's clock")] = ask(look.hub_api)
    told = {whose: one.off_s for whose, one in answers.items() if one.off_s is not None}
    for whose, off_s in told.items():
        words = _("{whose} is {n} s ahead of this machine's").format(whose=whose, n=off_s)
        remedy = _("let both machines keep time by NTP; charges and notices go by the governor's")
        if abs(off_s) > _FAR_OFF_S:
            yield wrong(words, remedy)
        elif abs(off_s) > _OFF_S:
            yield warn(words, remedy)
    if told and max(map(abs, told.values())) <= _OFF_S:
        yield ok(_("the clocks agree"))
