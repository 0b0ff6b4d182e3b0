"""The governor's own refusals, each with what is, why, and what to do next.

Refusals of the policy's rules come from `policy.catalogue` and `admission`; here are those of
attempts, states and rights.
"""

from collections.abc import Iterable
from datetime import timedelta

from ...errors import RefusedError
from ...i18n import _
from ...lease import OpenLease, Reason
from ...units import duration_text
from .words import cause_words, server_words

RETRY_S = 15
"""When to try again after something that is about to end: the hub waits 10 s for a stop."""


def no_policy() -> RefusedError:
    """No policy was ever accepted."""
    return RefusedError(
        "no-policy",
        _(
            "No valid policy is in force, so nothing can be granted. Ask an administrator to run "
            "`gpu-commons check` on the policy file and to mend what it names."
        ),
        retry_after_s=60,
    )


def attempt_over() -> RefusedError:
    """The ask came after the report of its end."""
    return RefusedError(
        "attempt-over",
        _("This attempt to start the server has already ended. Start the server again."),
    )


def still_stopping(lease: OpenLease) -> RefusedError:
    """The former server has not gone yet."""
    return RefusedError(
        "still-stopping",
        _(
            "{server} is still stopping ({why}), and its process is not yet known to be gone. "
            "Its GPU stays with it until then. Try again in {seconds} seconds; if this stays, "
            "tell an administrator."
        ).format(server=server_words(lease.key), why=cause_words(lease.cause), seconds=RETRY_S),
        figures={"lease": lease.id, "cause": lease.cause or "", "state": lease.state},
        retry_after_s=RETRY_S,
    )


def still_alive(lease: OpenLease) -> RefusedError:
    """An earlier process of the same server lives, or nobody can tell."""
    return RefusedError(
        "still-alive",
        _(
            "An earlier process of {server} still runs, or nobody can tell whether it does. "
            "A second one is not started beside it. Stop the server, wait until it is gone, and "
            "start it again; if this stays, tell an administrator."
        ).format(server=server_words(lease.key)),
        figures={"lease": lease.id, "state": lease.state},
        retry_after_s=RETRY_S,
    )


def process_lives(lease: OpenLease) -> RefusedError:
    """Its device cannot be freed by hand while the process is seen."""
    pid = lease.process.pid if lease.process is not None else "?"
    return RefusedError(
        "process-lives",
        _(
            "Process {pid} of {server} still runs on this machine, so that the next server would "
            "share its GPU. End that process first; then `gpu-commons lease close {lease}` "
            "suffices."
        ).format(pid=pid, server=server_words(lease.key), lease=lease.id),
        figures={"lease": lease.id, "pid": pid},
    )


def named(code: str, what: str, name: str, known: Iterable[str]) -> RefusedError:
    """A name that the policy does not have, beside those that it has."""
    return RefusedError(
        code,
        _("There is no {what} {name}. There are: {known}.").format(
            what=what, name=repr(name[:80]), known=", ".join(known) or _("none")
        ),
        status=404,
    )


def would_queue(reason: Reason, retry_after_s: int) -> RefusedError:
    """It would have to wait, and was not asked to."""
    return RefusedError(
        "would-queue",
        reason.message,
        figures={"why": reason.code, **reason.figures},
        retry_after_s=retry_after_s,
    )


def denied(reason: Reason) -> RefusedError:
    """It will never start as asked."""
    return RefusedError(reason.code, reason.message, figures=reason.figures, status=403)


def no_such_lease() -> RefusedError:
    """No such lease, or not one that the caller may know of: the words are the same."""
    return RefusedError(
        "no-such-lease",
        _("There is no such lease among those that you may see. Open your usage page for yours."),
        status=404,
    )


def not_yours() -> RefusedError:
    """The caller may see it but not act on it."""
    return RefusedError(
        "not-yours",
        _(
            "Only the owner of this server or an administrator may do this. Ask one of them, or "
            "tell an administrator why it is needed."
        ),
        status=403,
    )


def not_allowed(what: str) -> RefusedError:
    """The caller's kind has no right to this route."""
    return RefusedError(
        "not-allowed",
        _(
            "This token may not {what}. Sign in as yourself, or use a token that was made for it."
        ).format(what=what),
        status=403,
    )


def lease_over(lease: OpenLease) -> RefusedError:
    """It is about to end or has ended, so that nothing can be added to it."""
    return RefusedError(
        "lease-over",
        _(
            "This lease is ending or has ended ({why}). Start the server again for a new one."
        ).format(why=cause_words(lease.cause)),
        figures={"lease": lease.id, "state": lease.state, "cause": lease.cause or ""},
    )


def beyond_longest(lease: OpenLease, most_s: int) -> RefusedError:
    """An extension past the longest life that was agreed at the start."""
    if lease.longest_end_at is None or most_s <= 0:
        return RefusedError(
            "extend-limit",
            _(
                "This lease has reached its longest life, so it cannot be extended. Save your "
                "work; start the server again for a new lease."
            ),
            figures={"lease": lease.id, "extend_max_s": 0},
        )
    return RefusedError(
        "extend-limit",
        _("This lease can be extended by at most {most}. Ask for that or less.").format(
            most=duration_text(timedelta(seconds=most_s))
        ),
        figures={"lease": lease.id, "extend_max_s": most_s},
    )


def beyond_announced(lease: OpenLease, most_s: int, why: str) -> RefusedError:
    """An extension into what is announced for its devices."""
    most = duration_text(timedelta(seconds=most_s))
    return RefusedError(
        "extend-limit",
        _("{why} So this lease can be extended by {most} at most.").format(why=why, most=most),
        figures={"lease": lease.id, "extend_max_s": most_s},
    )


def nothing_to_keep() -> RefusedError:
    """No idle rule looks at this kind of server."""
    return RefusedError(
        "no-idle-rule",
        _("No idle rule watches this server, so there is nothing to hold off. Extend it instead."),
    )


def policy_moved() -> RefusedError:
    """The policy changed again and again while the environment was being checked."""
    return RefusedError(
        "policy-moved",
        _("The policy changed while your request was decided. Start the server again."),
        retry_after_s=2,
    )
