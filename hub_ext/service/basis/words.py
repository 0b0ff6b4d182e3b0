"""Words for people on why a lease ended, and what a server is called.

Every sentence that tells of a stop is made here, so that pages, Lab and refusals agree.
"""

from typing import Literal

from ...i18n import _
from ...lease import Actor, Cause, Notice, OpenLease, Reason, ServerKey, local_text

ADVICE = "idle-advice"
"""Code of a notice that asks for the GPU and stops nothing."""

_CAUSES = {
    Cause.user: _("it was stopped by its owner or through the hub"),
    Cause.culled: _("its GPU was idle for longer than the policy allows"),
    Cause.preempted: _("its GPU was called in for a request inside another guarantee"),
    Cause.expired: _("its lifetime was over"),
    Cause.budget: _("the budget was used up"),
    Cause.admin: _("an administrator stopped it"),
    Cause.failed: _("its process ended by itself or never came up"),
    Cause.lost: _("its process was gone without a report"),
    Cause.denied: _("the policy does not allow it"),
    Cause.cancelled: _("the start was cancelled"),
    Cause.replaced: _("another choice took its place"),
    Cause.refused_by_hub: _("the hub refused the start"),
    Cause.never_used: _("nobody came to use it"),
    Cause.not_queued: _("it could not start at once, and was not asked to wait"),
}


def server_words(key: ServerKey) -> str:
    """Name a server for its owner."""
    if key.server:
        return _("Server {name} of {user}").format(name=key.server, user=key.user)
    return _("The server of {user}").format(user=key.user)


def cause_words(cause: Cause | None) -> str:
    """Say in a few words, without a full stop, why a lease ended."""
    return _("no reason was recorded") if cause is None else _CAUSES[cause]


def notice_words(notice: Notice, zone: str) -> str:
    """Say what is announced, for when on the policy's clock, and why; advice has no time."""
    why = notice.reason.message
    if notice.is_advice:
        return why
    return _("It stops at {at}. {why}").format(at=local_text(notice.stops_at, zone), why=why)


def stop_reason(cause: Cause, actor: Actor | None = None) -> Reason:
    """Explain a stop to the owner and say what to do next."""
    why = cause_words(cause)
    if actor is not None and cause is Cause.user:
        why = _("{name} stopped it").format(name=actor.name)
    if actor is not None and cause is Cause.admin:
        why = _("administrator {name} stopped it").format(name=actor.name)
    return Reason(
        code=cause.value.replace("_", "-"),
        message=_("The server ended because {why}. Start it again when you need it.").format(
            why=why
        ),
    )


def admin_reason(
    actor: Actor, reason: str, act: Literal["stop", "release", "grant"] = "stop"
) -> Reason:
    """Explain to the owner what an administrator did by hand, with the words that they gave."""
    words = {
        "stop": _("Administrator {name} stopped the server: {reason}"),
        "release": _("Administrator {name} ended the lease of this server by hand: {reason}"),
        "grant": _("Administrator {name} opened this lease for the running server: {reason}"),
    }
    return Reason(
        code="admin" if act == "stop" else f"admin-{act}",
        message=words[act].format(name=actor.name, reason=reason),
    )


def prolonged_reason(actor: Actor, until: str, reason: str) -> Reason:
    """Tell the owner that an administrator let a server live longer."""
    return Reason(
        code="admin-prolong",
        message=_("Administrator {name} lets this server live until {until}: {reason}").format(
            name=actor.name, until=until, reason=reason
        ),
    )


def end_reason(lease: OpenLease, cause: Cause, exit_code: int | None = None) -> Reason:
    """Explain an end; a stop that was explained before keeps its words."""
    if lease.cause is cause and lease.reason is not None:
        return lease.reason
    reason = stop_reason(cause)
    if exit_code is None:
        return reason
    return reason.model_copy(update={"figures": {"exit_code": exit_code}})
