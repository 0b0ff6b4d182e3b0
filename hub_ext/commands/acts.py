"""Carries out one act on a hub: asked of the living governor, or, where none lives, in its place.

In its place means with its lock, its epoch and its rules; that needs neither hub nor network.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Generic, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from pydantic import BaseModel, ValidationError

from ..errors import GpuCommonsError, LedgerError, PolicyError, RefusedError
from ..i18n import _
from ..lease import Problem
from ..ledger.beside import reading
from ..ledger.samples import Samples
from ..ledger.store import Ledger
from ..policy.load import loads
from ..service.basis import machine
from ..service.books.config import GovernorConfig
from ..service.core.governor import Governor
from .onsite import Onsite

_ANSWER_S = 15.0
"""How long a living governor may take; its own work is milliseconds, a slow disk is seconds."""

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Act(Generic[T]):
    """One act: what the governor's API is asked and answers, and the same on the core itself."""

    path: str
    body: BaseModel
    gives: type[T]
    by_hand: Callable[[Governor, datetime], T]


@dataclass(frozen=True)
class Done(Generic[T]):
    """What came of an act; `alone` says that no governor lived."""

    value: T
    alone: bool


def carry_out(site: Onsite, act: Act[T]) -> Done[T]:
    """Carry out an act by whoever may write the ledger.

    Raises
    ------
    GpuCommonsError
        When it is refused, or a governor lives and does not answer.
    """
    pid = site.governor()
    if pid is not None:
        return Done(asked(site, pid, act.path, act.gives, act.body), alone=False)
    with in_its_place(site) as (core, now):
        value = act.by_hand(core, now)
    print(_("No governor lives; this was recorded in its place."))
    return Done(value, alone=True)


@contextmanager
def in_its_place(site: Onsite) -> Iterator[tuple[Governor, datetime]]:
    """Be the governor for one act: its lock, its epoch, its rules; LedgerError where one lives."""
    now = datetime.now(UTC)
    with reading(site.state, url=site.ledger_url):
        # Looked at first: opening would make a ledger where a wrong directory was named.
        pass
    told = {
        "state": str(site.state),
        "hub": site.hub,
        "engine": site.engine,
        "servers": site.servers,
        "kube_namespace": site.kube_namespace,
    }
    settings = GovernorConfig(**told).settings()
    ledger = Ledger.open(site.state, hub=site.hub, url=site.ledger_url)
    core = Governor(ledger, Samples.open(site.state), settings, alive=machine.probe)
    try:
        text = core.newest_policy_text()
        if text is not None:
            try:
                core.set_policy(loads(text), now=now)
            except PolicyError:
                print(_("The newest policy cannot be used by this version; acting without one."))
        yield core, now
    finally:
        core.close()


def asked(site: Onsite, pid: int, path: str, gives: type[T], body: BaseModel | None = None) -> T:
    """Ask the living governor with the command's own token; without a body it only reads.

    Raises
    ------
    RefusedError
        With the governor's own words.
    LedgerError
        When it does not answer as a governor does.
    """
    try:
        token = (site.state / "tokens" / "cli").read_text("ascii").strip()
    except OSError as error:
        raise GpuCommonsError(
            _(
                "{path} cannot be read: {error}. Run this as the hub's user; where the file is "
                "missing, restart the hub once, configure() makes it."
            ).format(path=error.filename, error=error.strerror)
        ) from error
    request = Request(  # noqa: S310 - the address that configure() wrote down, on loopback
        f"{site.api}/{path}",
        method="GET" if body is None else "POST",
        data=None if body is None else body.model_dump_json().encode(),
        headers={"Authorization": f"token {token}", "Content-Type": "application/json"},
    )
    try:
        # A proxy of the environment is for the world outside; this stays on the machine.
        with build_opener(ProxyHandler({})).open(request, timeout=_ANSWER_S) as answer:
            return gives.model_validate_json(answer.read())
    except HTTPError as error:
        with error:
            raise _refusal(error, pid) from error
    except (URLError, OSError, ValidationError) as error:
        raise silent(pid, str(getattr(error, "reason", error))) from error


def silent(pid: int, words: str) -> GpuCommonsError:
    """Say that a governor lives and did not do it, and what then."""
    return LedgerError(
        _(
            "a governor lives (process {pid}) and holds the ledger, but did not do it: {words}. "
            "Only one may write. Stop it first (stop the hub, or end that process), then run this "
            "again; it is then done without it."
        ).format(pid=pid or "?", words=words)
    )


def _refusal(error: HTTPError, pid: int) -> GpuCommonsError:
    try:
        problem = Problem.model_validate_json(error.read())
    except ValidationError:
        return silent(pid, f"HTTP {error.code}")
    if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return silent(pid, problem.detail)
    return RefusedError(problem.code, problem.detail, figures=problem.figures)
