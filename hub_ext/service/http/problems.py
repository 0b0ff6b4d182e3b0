"""Errors as RFC 9457 problems: a code, words for people, figures. No secret is ever in one.

Only what was meant for the caller is told; everything else is one sentence and a status.
"""

from http import HTTPStatus
from http.client import responses

from pydantic import ValidationError
from tornado.web import HTTPError

from ...errors import FencedError, LedgerError, RefusedError, UnreachableError
from ...i18n import _
from ...lease import Problem

PROBLEM_TYPE = "https://gpu-commons.dev/problems/"

_MOST_FAULTS = 5
"""Faults of a body that are named at once; more would not be read."""


def bad_body(error: ValidationError) -> RefusedError:
    """Make a clear 400 of what pydantic found; input is not repeated."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        "{place}: {words}".format(
            place=".".join(str(part) for part in fault["loc"]) or _("body"), words=fault["msg"]
        )
        for fault in faults[:_MOST_FAULTS]
    ]
    return RefusedError(
        "bad-request",
        _("The request cannot be read: {faults}. See openapi.json for its shape.").format(
            faults="; ".join(lines)
        ),
        figures={"faults": len(faults)},
        status=HTTPStatus.BAD_REQUEST,
    )


def problem_of(error: BaseException | None, status: int) -> Problem:
    """Describe an error to whoever asked; what is not meant for them is left out."""
    match error:
        case RefusedError():
            return _problem(
                error.status, error.code, error.message, error.figures, error.retry_after_s
            )
        case FencedError():
            words = _("Another governor has taken over; this one ends. Try again in a moment.")
            return _problem(503, "fenced", words, retry_after_s=5)
        case LedgerError():
            words = _(
                "The ledger cannot be written, so nothing was granted or changed. Try again in a "
                "minute; if this stays, tell an administrator."
            )
            return _problem(503, "ledger-unavailable", words, retry_after_s=60)
        case UnreachableError():
            words = _("The hub does not answer, so nobody can be identified. Try again soon.")
            return _problem(503, "hub-unreachable", words, retry_after_s=10)
        case HTTPError():
            return _of_http(error.status_code)
        case _:
            return _of_http(status)


def _of_http(status: int) -> Problem:
    codes: dict[int, tuple[str, str]] = {
        400: ("bad-request", _("The request cannot be read. See openapi.json for its shape.")),
        401: ("sign-in", _("Sign in at the hub, or send a token.")),
        403: ("not-allowed", _("This is not allowed for you. Sign in as somebody else.")),
        404: ("not-found", _("There is nothing at this address. See openapi.json for what is.")),
        405: ("no-such-method", _("This address has no such method. See openapi.json.")),
    }
    internal = (
        "internal",
        _("Something went wrong here, not with you. Try again, or tell an administrator."),
    )
    code, words = codes.get(status, internal)
    return _problem(status, code, words)


def _problem(
    status: int,
    code: str,
    words: str,
    figures: dict[str, int | str] | None = None,
    retry_after_s: int | None = None,
) -> Problem:
    return Problem(
        type=f"{PROBLEM_TYPE}{code}",
        title=responses.get(status, "Error"),
        status=status,
        detail=words,
        code=code,
        figures=figures or {},
        retry_after_s=retry_after_s,
    )
