"""What the Kubernetes API refuses or fails to answer, as an answer to a person.

The API's own text holds headers and JSON; of it people get the one sentence that says what is.
"""

import json
import re
from typing import Any

from hub_ext.errors import RefusedError
from hub_ext.i18n import _

_QUOTA = re.compile(
    r"exceeded quota: ([^,]+), requested: (.*?), used: (.*?), limited: (.*?)(?=$|\")"
)
_SAID = 240
_SERVER_ERRORS = range(500, 600)
_UNPROCESSABLE = 422
_FORBIDDEN, _UNAUTHORIZED, _NOT_FOUND = 403, 401, 404


def refusal(error: Exception, namespace: str) -> RefusedError:
    """Turn an answer of the API into a refusal.

    Parameters
    ----------
    error
        The client's exception; its `status` and `body` are the API's answer.
    namespace
        Where the pod was to be made.
    """
    status, said = getattr(error, "status", None), message_of(error)
    if status == _FORBIDDEN:
        return _forbidden(said, namespace)
    if status == _NOT_FOUND:
        return RefusedError(
            "no-namespace",
            _(
                "The namespace {namespace} of your project is not in the cluster ({said}). An "
                "administrator makes it with `gpu-commons render --apply`."
            ).format(namespace=namespace, said=said),
        )
    if status == _UNAUTHORIZED:
        return RefusedError(
            "hub-not-known",
            _("The cluster does not know the hub any more. Tell an administrator: {said}").format(
                said=said
            ),
        )
    if status == _UNPROCESSABLE:
        return RefusedError(
            "pod-invalid",
            _(
                "The cluster does not take this server as the policy and the hub's settings make "
                "it: {said}. Tell an administrator."
            ).format(said=said),
        )
    return _away(said if status in _SERVER_ERRORS or status is None else f"{status} {said}")


def _forbidden(said: str, namespace: str) -> RefusedError:
    if found := _QUOTA.search(said):
        name, requested, used, limited = found.groups()
        return RefusedError(
            "namespace-quota",
            _(
                "The namespace {namespace} has a ResourceQuota {name} that leaves no room: asked "
                "for {requested}, used {used} of {limited}. Stop another server of the project, or "
                "ask an administrator to raise it: it is narrower than the policy."
            ).format(
                namespace=namespace, name=name, requested=requested, used=used, limited=limited
            ),
            retry_after_s=60,
        )
    if "PodSecurity" in said:
        return RefusedError(
            "pod-security",
            _(
                "The namespace {namespace} does not let this server in: {said}. Tell an "
                "administrator: a setting of the hub wants more rights than the namespace gives."
            ).format(namespace=namespace, said=said),
        )
    if "cannot create resource" in said or "cannot delete resource" in said:
        return RefusedError(
            "hub-may-not",
            _(
                "The hub may not make servers in the namespace {namespace}. An administrator gives "
                "it the rights with `gpu-commons render --apply`: {said}"
            ).format(namespace=namespace, said=said),
        )
    return RefusedError(
        "cluster-refused",
        _("The cluster refuses this server: {said}. Tell an administrator.").format(said=said),
    )


def _away(said: str) -> RefusedError:
    return RefusedError(
        "cluster-away",
        _(
            "The cluster does not answer as it should, so nothing was started ({said}). Try again "
            "in a minute; if this stays, tell an administrator."
        ).format(said=said),
        status=429,
        retry_after_s=60,
    )


def message_of(error: Exception) -> str:
    """Take the one sentence out of the API's answer, without headers and JSON."""
    body: Any = getattr(error, "body", None)
    try:
        text = str(json.loads(body)["message"])
    except (TypeError, ValueError, KeyError):
        text = str(getattr(error, "reason", None) or error) or type(error).__name__
    line = " ".join(text.split())
    return line if len(line) <= _SAID else f"{line[: _SAID - 1]}…"
