"""Whether a changed policy file comes into force now or waits for an administrator's word.

The policy in force says which; a first policy always comes into force.
"""

from datetime import datetime

from ...errors import PolicyError, RefusedError
from ...i18n import _
from ...lease import GOVERNOR, Actor
from ...policy.load import Loaded, loads
from ..books.desk import Desk
from ..leasing.closing import promote
from ..money.settling import before_prices_change
from .consent import Consent

LEAST_DIGITS = 8
"""Digits of a SHA-256 that name a text well enough for a person."""


def offer(desk: Desk, loaded: Loaded, consent: Consent | None, *, now: datetime) -> int | None:
    """Take a changed file: bring it into force and return its generation, or let it wait.

    Parameters
    ----------
    consent
        An administrator's word on a text, if there is one; on this text it ends the waiting.
    """
    if consent is not None and consent.sha256 == loaded.sha256:
        return put(desk, loaded, consent.actor, consent.reason, now=now)
    if desk.book.known is None:
        _take_up(desk, now=now)
    if not desk.book.must_wait(loaded):
        return put(desk, loaded, GOVERNOR, "", now=now)
    desk.book.wait(loaded, now=now)
    return None


def accept(desk: Desk, sha256: str, reason: str, actor: Actor, *, now: datetime) -> int:
    """Bring the waiting text into force and return its generation.

    Raises
    ------
    RefusedError
        When no text waits, or another one than was meant.
    """
    waiting = desk.book.waiting
    if waiting is None:
        raise RefusedError(
            "nothing-waits",
            _("No changed policy waits. Save the file; a right text then waits here."),
        )
    if len(sha256) < LEAST_DIGITS or not waiting.sha256.startswith(sha256):
        raise RefusedError(
            "other-text",
            _(
                "The waiting text is {waiting}, not {asked}: the file was saved again. Look at "
                "what it changes now, and accept that."
            ).format(waiting=waiting.sha256[:12], asked=repr(sha256[:12])),
            figures={"waiting": waiting.sha256},
        )
    return put(desk, waiting, actor, reason, now=now)


def put(desk: Desk, loaded: Loaded, actor: Actor, reason: str, *, now: datetime) -> int:
    """Bring a checked text into force, with who and why; return its generation."""
    before_prices_change(desk, loaded.policy, now=now)
    number = desk.book.put(loaded, now=now, actor=actor, reason=reason)
    with desk.turn(now, actor) as turn:
        # A guarantee that grew covers leases that borrowed until now.
        promote(turn)
    return number


def _take_up(desk: Desk, *, now: datetime) -> None:
    """Go on with the newest generation where it wants a word before the next; else with none."""
    text = desk.book.newest_text()
    if text is None:
        return
    try:
        newest = loads(text)
    except PolicyError:
        # This version's checks refuse what an older one accepted: the file is all there is.
        return
    if newest.policy.apply == "accept":
        put(desk, newest, GOVERNOR, "", now=now)
