"""What an answer of the API server means, as our errors in words. Pure; words hold no secret."""

import json
from typing import Any

from ..errors import GpuCommonsError, RefusedError, UnreachableError
from ..i18n import _

_LONGEST = 400
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT, _GONE, _TOO_MANY = 401, 403, 404, 409, 410, 429
_ERRORS = 500


class MissingError(RefusedError):
    """The object or its namespace is not there."""

    def __init__(self, words: str) -> None:
        super().__init__(
            "kube-missing",
            _("{words}; let an administrator run `gpu-commons render --apply`").format(words=words),
            status=_CONFLICT,
        )


class ConflictError(RefusedError):
    """It exists already, or was changed meanwhile."""

    def __init__(self, words: str) -> None:
        super().__init__("kube-conflict", words, status=_CONFLICT)


class ExpiredError(UnreachableError):
    """410: what was asked for from there on is no longer kept; list anew."""


class NotServedError(UnreachableError):
    """404 for a whole kind: nothing may be concluded of any object of it."""

    def __init__(self, words: str) -> None:
        super().__init__(
            _(
                "the API server of Kubernetes knows no such kind: {words}; "
                "it is still starting, or Kueue is not installed"
            ).format(words=words)
        )


def failure(status: int, body: str | bytes) -> GpuCommonsError:
    """Turn an answer that is no success into the error to raise.

    Parameters
    ----------
    status
        HTTP status of the answer.
    body
        What came with it: a Status of Kubernetes, or a proxy's page.
    """
    told = _told(body)
    words = _words(told, body)
    known: dict[int, type[GpuCommonsError]] = {_GONE: ExpiredError, _CONFLICT: ConflictError}
    if status == _NOT_FOUND:
        # The answer for an object names it; that for a kind which is not served names nothing.
        named = isinstance(told.get("details"), dict) and told["details"].get("name")
        known[_NOT_FOUND] = MissingError if named else NotServedError
    if status in known:
        return known[status](words)
    if status >= _ERRORS or status in (_UNAUTHORIZED, _TOO_MANY):
        return UnreachableError(_away(status, words))
    return _refusal(status, words)


def _away(status: int, words: str) -> str:
    if "failed calling webhook" in words:
        text = _("Kueue does not answer, so nothing new can be admitted: {words}")
    elif status == _UNAUTHORIZED:
        text = _("the API server of Kubernetes does not know the governor's token: {words}")
    else:
        text = _("the API server of Kubernetes answered {status}: {words}")
    return text.format(status=status, words=words)


def _refusal(status: int, words: str) -> RefusedError:
    """Say who refused: Kubernetes' rights, a webhook's rule, or the form of the request."""
    if status == _FORBIDDEN and "denied the request" not in words and "cannot " in words:
        text = _(
            "the governor may not do this on Kubernetes: {words}; "
            "let an administrator apply the roles of `gpu-commons render`"
        )
        return RefusedError("kube-forbidden", text.format(words=words))
    text = _("Kubernetes refused the request: {words}; let an administrator look at it")
    return RefusedError("kube-refused", text.format(words=words), figures={"status": status})


def silence(error: BaseException) -> UnreachableError:
    """Say that no answer came."""
    if isinstance(error, TimeoutError):
        return UnreachableError(_("the API server of Kubernetes did not answer in time"))
    return UnreachableError(
        _("the API server of Kubernetes does not answer: {error}").format(
            error=str(error)[:_LONGEST] or type(error).__name__
        )
    )


def _told(body: str | bytes) -> dict[str, Any]:
    try:
        told = json.loads(body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _words(told: dict[str, Any], body: str | bytes) -> str:
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    short = " ".join(str(told.get("message") or text).split())[:_LONGEST]
    return short or _("without a word")
