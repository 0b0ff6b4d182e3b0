"""Speaks to the governor with this server's own token. Every failure becomes one of two errors."""

import asyncio
import json
from typing import TypeVar

from pydantic import ValidationError
from tornado.httpclient import HTTPRequest, HTTPResponse
from tornado.simple_httpclient import HTTPTimeoutError, SimpleAsyncHTTPClient

from hub_ext.errors import RefusedError, UnreachableError
from hub_ext.i18n import _
from hub_ext.lease import Activity, LeaseId, LeaseView, Problem, SwitchSheet, Value

from .place import Place

GRACE_S = 10
"""How much longer than it was asked to wait a governor may take."""

TIMED_OUT = 599
"""Tornado's own code for "no answer"."""

T = TypeVar("T", bound=Value)

_GONE = (OSError, HTTPTimeoutError, asyncio.TimeoutError)


class Governor:
    """Client of the calls that a server may make about its own lease.

    A client of its own, as a long poll must not use up the slots of others; `SimpleAsync…`, as
    a hub may have configured the shared class to pycurl.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._http = SimpleAsyncHTTPClient(force_instance=True, max_clients=20)

    async def view(self, *, after: int, wait_s: int) -> LeaseView:
        """Return the lease's view, at once when newer than event `after`, else in `wait_s`.

        Raises
        ------
        UnreachableError
            No governor, or one that answers nonsense.
        RefusedError
            It will not show this lease; carries its words.
        """
        url = f"{self._place.lease_url}?after={after}&wait_s={wait_s}"
        answer = await self._send(HTTPRequest(url, request_timeout=wait_s + GRACE_S))
        return _read(LeaseView, answer)

    async def profiles(self, lease_id: LeaseId) -> SwitchSheet:
        """Return what the server could have instead, decided as a start would be now.

        Raises
        ------
        UnreachableError, RefusedError
            As in `view`.
        """
        url = f"{self._place.api_url}/leases/{lease_id}/switch"
        answer = await self._send(HTTPRequest(url, request_timeout=GRACE_S))
        return _read(SwitchSheet, answer)

    async def act(self, lease_id: LeaseId, verb: str, figures: dict[str, object]) -> None:
        """Ask for `stop`, `extend`, `keep`, `switch` or `cancel`; it answers before it is done.

        Raises
        ------
        UnreachableError, RefusedError
            As in `view`; nothing was changed.
        """
        await self._send(
            HTTPRequest(
                f"{self._place.api_url}/leases/{lease_id}/{verb}",
                method="POST",
                body=json.dumps(figures),
                headers={"Content-Type": "application/json"},
                request_timeout=GRACE_S,
            )
        )

    async def tell(self, activity: Activity) -> None:
        """Tell what this server does.

        Raises
        ------
        UnreachableError, RefusedError
            As in `view`; what was told before still holds.
        """
        await self._send(
            HTTPRequest(
                self._place.activity_url,
                method="POST",
                body=activity.model_dump_json(exclude_none=True),
                headers={"Content-Type": "application/json"},
                request_timeout=GRACE_S,
            )
        )

    async def _send(self, request: HTTPRequest) -> HTTPResponse:
        request.headers["Authorization"] = f"token {self._place.token}"
        request.connect_timeout = 5.0
        # A redirect would carry the token to wherever it points.
        request.follow_redirects = False
        try:
            answer = await self._http.fetch(request, raise_error=False)
        except _GONE as error:
            raise UnreachableError(_("The governor does not answer")) from error
        if answer.code in {200, 201, 202, 204}:
            return answer
        raise _refusal(answer)

    def close(self) -> None:
        """End open calls."""
        self._http.close()


def _read(kind: type[T], answer: HTTPResponse) -> T:
    try:
        return kind.model_validate_json(answer.body)
    except ValidationError as error:
        raise UnreachableError(
            _("The governor's answer was not understood; its version may differ from this one")
        ) from error


def _refusal(answer: HTTPResponse) -> UnreachableError | RefusedError:
    """Turn an answer that is no success into the error that says what it means here."""
    if answer.code == TIMED_OUT:
        return UnreachableError(_("The governor does not answer"))
    # 429 is "later", not "no": what was seen before still holds.
    if answer.code >= 500 or answer.code < 400 or answer.code == 429:  # noqa: PLR2004 - HTTP's classes
        return UnreachableError(
            _("The governor answered with HTTP status {code}").format(code=answer.code)
        )
    try:
        problem = Problem.model_validate_json(answer.body or b"")
    except ValidationError:
        return RefusedError(
            "not-understood",
            _(
                "The hub refused with HTTP status {code}; ask an administrator to run its checks"
            ).format(code=answer.code),
            status=answer.code,
        )
    return RefusedError(
        problem.code,
        problem.detail,
        figures=problem.figures,
        status=problem.status if 400 <= problem.status < 500 else answer.code,  # noqa: PLR2004
        retry_after_s=problem.retry_after_s,
    )
