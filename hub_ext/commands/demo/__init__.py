"""`gpu-commons demo`: a whole hub with simulated GPUs on 127.0.0.1; no root, no questions.

Everything lies in one directory and ends with this process; a second start keeps the ports.
"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import GpuCommonsError
from ...i18n import _
from ...images.pins import digest
from ...statedir import LOOPBACK, StateDir
from . import environments, rules
from .household import Household

START_LIMIT_S = 180.0
"""Longest start of the hub: importing it takes 3 s, on a busy machine with a cold disk a minute."""

COMPLAINT_S = 15.0
"""How long a governor that answers but finds something wrong is waited for."""

_LOOK_S = 0.2

PEOPLE = ("scientist-1", "scientist-2", "lead")
ADMIN = "admin"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--state",
        type=Path,
        default=Path(os.environ.get("GPU_COMMONS_STATE") or ".demo"),
        help=_("directory of everything that the demo keeps (default: .demo)"),
    )


def run(args: argparse.Namespace) -> int:
    """Run the demo until Ctrl-C or SIGTERM; 1 when it could not start."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    state = StateDir(args.state)
    with _alone(state):
        household = Household(state.path / "hub" / "output.txt")
        try:
            policy = _prepare(state)
            url = _start(state, policy, household)
            _greet(state, policy, url)
            while household.running():
                time.sleep(0.2)
            _say(_("The hub has ended by itself. Its last words:\n{tail}"), tail=household.tail())
        except KeyboardInterrupt:
            _say("")
            return 0
        finally:
            _stop(household)
    return 1


def _prepare(state: StateDir) -> Path:
    """Make environments and policy; a second time this takes a moment."""
    folder = rules.config_folder()
    shared = state.path / "env" / "shared"
    (state.path / "hub").mkdir(mode=0o700, exist_ok=True)
    with _step(_("Showing the packages of this Python to the projects' environments")):
        environments.share(shared)

    def pin(name: str) -> str:
        prefix = state.path / "env" / Path(name).name
        with _step(_("Environment {name}").format(name=prefix.name)):
            environments.make(prefix, shared)
            return digest(prefix)

    return rules.render(folder / "policy.yaml", state, pin)


def _start(state: StateDir, policy: Path, household: Household) -> str:
    """Start the hub and wait until it, the governor and the agent are up."""
    _find_proxy()
    url = f"http://{LOOPBACK}:{state.port('public')}"
    command = [
        sys.executable,
        "-P",
        "-m",
        "jupyterhub",
        "-f",
        str(rules.config_folder() / "jupyterhub_config.py"),
    ]
    with _step(_("Hub, proxy, governor and agent")):
        household.start(command, _environment(state, policy), state.path / "hub")
        _wait_until_up(f"{url}/services/gpu-commons/healthz", household)
    return url


def _wait_until_up(health: str, household: Household) -> None:
    """Wait for the governor to be well; where it answers but complains, not for ever.

    Raises
    ------
    GpuCommonsError
        When the hub ended, or nothing answered in time.
    """
    began = time.monotonic()
    answered = 0
    while (status := _status(health)) != "ok":
        answered += status is not None
        if answered * _LOOK_S > COMPLAINT_S:
            return
        if not household.running():
            raise GpuCommonsError(
                _("The hub did not start. Its last words:\n{tail}").format(tail=household.tail())
            )
        if time.monotonic() - began > START_LIMIT_S:
            raise GpuCommonsError(
                _("The hub was not up after {seconds} s; {output} tells more.").format(
                    seconds=int(START_LIMIT_S), output=household.output
                )
            )
        time.sleep(_LOOK_S)


def _environment(state: StateDir, policy: Path) -> dict[str, str]:
    """Environment of the hub: our own, with the state, and Python and Node on the path."""
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    given = {
        **os.environ,
        "PATH": beside,
        "GPU_COMMONS_STATE": str(state.path),
        "GPU_COMMONS_POLICY": str(policy),
        "GPU_COMMONS_DEVICES": "simulated",
    }
    root = Path(__file__).parents[3]
    if str(root) not in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        given["PYTHONPATH"] = os.pathsep.join(
            part for part in (str(root), os.environ.get("PYTHONPATH")) if part
        )
    return given


def _find_proxy() -> None:
    local = Path(__file__).parents[3] / "node_modules" / ".bin" / "configurable-http-proxy"
    if not (local.exists() or shutil.which("configurable-http-proxy")):
        raise GpuCommonsError(
            _(
                "The hub's proxy is not installed. In the source tree `make demo` installs it; "
                "elsewhere run `npm install -g configurable-http-proxy`."
            )
        )


def _greet(state: StateDir, policy: Path, url: str) -> None:
    _say("")
    _say(_("  Open   {url}"), url=url)
    _say("")
    for name in PEOPLE:
        _say(_("  Log in as {name:<12} password {password}"), name=name, password=_people(state))
    admins = state.token("admins")[:32]
    _say(_("  Log in as {name:<12} password {password}"), name=ADMIN, password=admins)
    _say("")
    _say(
        _("  All GPUs are simulated. The rules are in {policy}: edit it and watch."), policy=policy
    )
    _say(_("  Ctrl-C stops everything."))


def _people(state: StateDir) -> str:
    return state.token("people")[:12]


def _stop(household: Household) -> None:
    """End everything; another Ctrl-C ends the patience."""
    hurried = []
    signal.signal(signal.SIGINT, lambda *_signal: hurried.append(1))
    signal.signal(signal.SIGTERM, lambda *_signal: hurried.append(1))
    with _step(_("Stopping everything")):
        household.stop(lambda _seconds: not hurried)


@contextmanager
def _alone(state: StateDir) -> Iterator[None]:
    """Hold the state directory; a second demo in it is refused with the first one's address."""
    with (state.path / "demo.lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GpuCommonsError(
                _(
                    "A demo runs already in {state}, at http://127.0.0.1:{port}. Stop that one, or "
                    "give another directory with --state."
                ).format(state=state.path, port=state.ports().get("public", "?"))
            ) from None
        yield


@contextmanager
def _step(words: str) -> Iterator[None]:
    """Tell what goes on now, and how long it took."""
    began = time.monotonic()
    sys.stdout.write(f"{words} … ")
    sys.stdout.flush()
    try:
        yield
    except BaseException:
        sys.stdout.write("\n")
        raise
    sys.stdout.write(f"{time.monotonic() - began:.1f} s\n")
    sys.stdout.flush()


def _status(health: str) -> str | None:
    """What the governor says of itself; None while it does not answer."""
    with suppress(OSError, ValueError), urllib.request.urlopen(health, timeout=2) as response:  # noqa: S310 - our own loopback
        return str(json.load(response)["status"])
    return None


def _say(words: str, **figures: object) -> None:
    sys.stdout.write(words.format(**figures) + "\n")
    sys.stdout.flush()


def _as_interrupt(*_signal: object) -> None:
    raise KeyboardInterrupt
