"""The spawner's side of the governor's API: ask, offers, reports.

Holds no decision and no state of a lease. An ask is bounded, retries included; a report is
handed over and delivered in the background.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.i18n import _
from hub_ext.lease import Ask, AttemptId, Grant, OfferSheet, Problem, Report, UserName, Value

from .outbox import Message, Outbox
from .turns import Turns
from .wire import SERVER_ERROR, Answer, Peer, exchange

_Told = TypeVar("_Told", bound=Value)
_OK = 200
_NOT_OURS = frozenset({401, 404, 405})
"""Answers that tell of a wrong address or token, never of a person's wish."""

_NO_RIGHT = "not-allowed"
"""Our own token lacks its scope: a fault of the site, which no person can mend."""

_THREADS = ThreadPoolExecutor(max_workers=64, thread_name_prefix="gpu-commons-ask")
"""Wide enough that fifty starts at once do not wait for each other here."""


class GovernorClient:
    """Talks to one governor.

    Parameters
    ----------
    url
        Base of the API ("http://127.0.0.1:9321/services/gpu-commons/api/v1").
    token
        Token of the service entry `gpu-commons-spawner`.
    timeout_s
        Seconds for one ask or one sheet of offers, retries included.
    """

    def __init__(self, url: str, token: str, timeout_s: float = 2.0) -> None:
        self._peer = Peer(url.rstrip("/"), token)
        self._timeout_s = timeout_s
        self._turns = Turns()
        self.outbox = Outbox(self._peer)

    async def ask(self, ask: Ask) -> Grant:
        """Ask for a grant. The attempt id makes asking twice harmless.

        Raises
        ------
        RefusedError
            The governor's answer to the person.
        UnreachableError
            No answer in time, or none that could be understood; the lease may exist.
        """
        return _read(Grant, await self._exchange("attempts", ask.model_dump_json().encode()))

    async def offers(self, user: UserName, groups: tuple[str, ...]) -> OfferSheet:
        """Fetch what one person may choose now.

        Raises
        ------
        RefusedError, UnreachableError
            As `ask`.
        """
        query = urlencode([("user", user), *(("group", group) for group in groups)])
        return _read(OfferSheet, await self._exchange(f"offers?{query}", None))

    def report(self, attempt_id: AttemptId, report: Report) -> None:
        """Hand over a report; it is delivered in order, as soon as the governor takes it.

        It then says how long ago it was made: nobody pays for a governor that was away.
        """
        made_s = time.monotonic()

        def written() -> bytes:
            age_ms = round(1000 * (time.monotonic() - made_s))
            return report.model_copy(update={"age_ms": age_ms}).model_dump_json().encode()

        self.outbox.put(
            Message(
                f"attempts/{quote(attempt_id, safe='')}/reports",
                written,
                f"{report.kind} of {report.key}, {report.liveness}",
            )
        )

    def ask_later(self, ask: Ask) -> None:
        """Have a start recorded that was made while the governor was away."""
        self.outbox.put(
            Message("attempts", ask.model_dump_json().encode(), f"start of {ask.key} without you")
        )

    async def _exchange(self, path: str, body: bytes | None) -> Answer:
        loop = asyncio.get_running_loop()
        # Not in the turn in which the hub takes a burst: the threads would take its interpreter.
        await self._turns.mine()
        try:
            return await loop.run_in_executor(
                _THREADS,
                lambda: exchange(self._peer, path, body=body, within_s=self._timeout_s),
            )
        finally:
            await self._turns.mine()


def client_for(url: str, token: str, timeout_s: float) -> GovernorClient:
    """Return the process's one client for an address, so that its outbox outlives spawners."""
    key = (url, token, timeout_s)
    if key not in _CLIENTS:
        _CLIENTS[key] = GovernorClient(url, token, timeout_s)
    return _CLIENTS[key]


_CLIENTS: dict[tuple[str, str, float], GovernorClient] = {}


def _read(kind: type[_Told], answer: Answer) -> _Told:
    if answer.status == _OK:
        try:
            return kind.model_validate_json(answer.body)
        except ValidationError as error:
            raise UnreachableError(
                _("the governor answered something else than a {kind}: {error}").format(
                    kind=kind.__name__, error=str(error).splitlines()[0]
                )
            ) from error
    if answer.status >= SERVER_ERROR or answer.status in _NOT_OURS:
        raise _odd(answer)
    try:
        problem = Problem.model_validate_json(answer.body)
    except ValidationError:
        raise _odd(answer) from None
    if problem.code == _NO_RIGHT:
        raise _odd(answer)
    raise RefusedError(
        problem.code,
        problem.detail,
        figures=problem.figures,
        status=answer.status,
        retry_after_s=problem.retry_after_s,
    )


def _odd(answer: Answer) -> UnreachableError:
    return UnreachableError(
        _("the governor answered with HTTP status {status}: {text}").format(
            status=answer.status, text=ascii(answer.body[:200])
        )
    )
