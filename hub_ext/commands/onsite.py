"""What commands share that act on a hub from its own machine: where it keeps things, who acts.

Whoever may read the state directory is the hub's user or root; no other right is asked for.
"""

import argparse
import os
import pwd
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Actor
from ..ledger.lock import GovernorLock
from ..ledger.places import LOCK
from ..statedir import LOOPBACK, run_of


@dataclass(frozen=True)
class Onsite:
    """One hub's state directory, and what its last start wrote down there."""

    state: Path
    hub: str
    policy: Path | None
    api: str
    ledger_url: str | None = field(repr=False)
    engine: str
    """Who admits, as in the governor's settings: what stands in for it goes by the same rules."""
    servers: str = "processes"
    """What servers are, as in the governor's settings."""
    kube_namespace: str = ""
    """The one namespace of all servers, as in the governor's settings."""

    def governor(self) -> int | None:
        """Pid of the living governor (0 where it cannot be told), or None."""
        return GovernorLock.holder(self.state / LOCK)


def add_state(parser: argparse.ArgumentParser) -> None:
    """Declare the argument that names the state directory."""
    parser.add_argument(
        "--state",
        type=Path,
        default=os.environ.get("GPU_COMMONS_STATE"),
        help=_("state directory of the hub (default: $GPU_COMMONS_STATE)"),
    )


def add_verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, line: str
) -> argparse.ArgumentParser:
    """Declare one verb of a command, which acts on a state directory."""
    parser = verbs.add_parser(name, help=line, description=line)
    add_state(parser)
    return parser


def add_reason(parser: argparse.ArgumentParser) -> None:
    """Declare the reason that a verb cannot do without."""
    parser.add_argument("--reason", required=True, help=_("why; recorded with your name"))


def onsite(state: Path | str | None) -> Onsite:
    """Read what is known of a hub from its state directory; nothing is made there.

    Raises
    ------
    GpuCommonsError
        When none is named, or it is not there.
    """
    if state is None:
        raise GpuCommonsError(_("name the state directory with --state or $GPU_COMMONS_STATE"))
    place = Path(state).absolute()
    if not place.is_dir():
        raise GpuCommonsError(
            _("there is no state directory at {path}; configure() of the hub names it").format(
                path=place
            )
        )
    noted = run_of(place)
    ports = noted.get("ports")
    port = ports.get("governor") if isinstance(ports, dict) else None
    policy = noted.get("policy")
    return Onsite(
        state=place,
        hub=str(noted.get("hub") or os.environ.get("GPU_COMMONS_HUB") or "hub"),
        policy=Path(str(policy)) if policy else _path(os.environ.get("GPU_COMMONS_POLICY")),
        api=str(noted.get("api") or f"http://{LOOPBACK}:{port or 0}/services/gpu-commons/api/v1"),
        ledger_url=os.environ.get("GPU_COMMONS_LEDGER_URL")
        or str(noted.get("ledger_url") or "")
        or None,
        engine=_told(noted, "engine", "embedded"),
        servers=_told(noted, "servers", "processes"),
        kube_namespace=_told(noted, "kube_namespace", ""),
    )


def _told(noted: dict[str, object], name: str, otherwise: str) -> str:
    """Read a setting of the governor: from the environment, as in its pod, or as noted down."""
    return os.environ.get(f"GPU_COMMONS_{name.upper()}") or str(noted.get(name) or otherwise)


def actor() -> Actor:
    """Whoever runs this command, by the operating system's word; `sudo` tells who asked."""
    name = pwd.getpwuid(os.getuid()).pw_name
    asked = os.environ.get("SUDO_USER") if os.getuid() == 0 else None
    return Actor(kind="cli", name=f"{asked} as {name}" if asked else name, admin=True)


def reason_of(text: str) -> str:
    """Take a reason as the command line gives it.

    Raises
    ------
    GpuCommonsError
        When it is empty or longer than the ledger keeps.
    """
    reason = " ".join(text.split())
    if not reason or len(reason) > MOST_REASON:
        raise GpuCommonsError(
            _("give a reason of 1 to {n} characters; it is recorded with your name").format(
                n=MOST_REASON
            )
        )
    return reason


MOST_REASON = 500
"""Characters of a reason."""


def _path(text: str | None) -> Path | None:
    return Path(text).absolute() if text else None
