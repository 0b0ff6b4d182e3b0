"""More time for a server is money too: budgets decide on an extension as they do on a start."""

from datetime import datetime

from ...admission.budget_words import is_never, numbers, obstacle_words
from ...budget import Obstacle, obstacle
from ...errors import RefusedError
from ...i18n import _
from ...lease import OpenLease, Reason, Standing
from ...lease.reserving import Opening, Reservation
from ...units import instant_us
from ..books.budgetcosts import spending_of, unused_of
from ..books.desk import Turn

UNENFORCED = "budget.unenforced"
"""Kind of the event: a budget would have refused or stopped something, and did not."""


def pay_for(turn: Turn, lease: OpenLease, until: datetime) -> None:
    """Let a lease live until an instant, as far as budgets go.

    Raises
    ------
    RefusedError
        Where they are enforced and one is in the way; its figures say for how long it would pay.
    """
    found = _in_the_way(turn, lease, until)
    if found is None:
        return
    policy = turn.desk.book.policy
    words = obstacle_words(policy, found, lease.key.user, lease.flavor, turn.now)
    mode = policy.modes.budget
    if mode != "enforce":
        note(turn, lease, found.budget.name, "extension", words)
        return
    what_next = (
        _("It lives on until its present end; save your work before that.")
        if is_never(found) or not found.fits_s
        else _("Extend it by less, or save your work before its present end.")
    )
    figures = {"lease": lease.id, "extend_max_s": found.fits_s, **numbers(found)}
    raise RefusedError(found.code, f"{words} {what_next}", figures=figures)


def unpaid_beside(turn: Turn, one: Reservation, current: Opening) -> Reason | None:
    """Say why no money is there to keep devices unused beside a server that runs on; None if it is.

    Until its owner changes over both are paid for.
    """
    policy = turn.policy
    kept = current.model_copy(update={"kept_since": turn.now})
    costs = unused_of(policy, one.model_copy(update={"current": kept}))
    if costs is None or policy.modes.budget != "enforce":
        return None
    found = obstacle(turn.budgets(policy), costs, turn.now, inside=True, own=(one.id,))
    if found is None:
        return None
    words = obstacle_words(policy, found, one.key.user, one.flavor, turn.now)
    return Reason(code=found.code, message=words, figures=numbers(found))


def note(turn: Turn, lease: OpenLease, budget: str, what: str, words: str) -> None:
    """Record what a budget would have done to a lease: refuse an `extension`, or a `stop`."""
    body: dict[str, object] = {
        "v": 1,
        "team": lease.team,
        "budget": budget,
        "what": what,
        "mode": turn.desk.book.policy.modes.budget,
        "words": words,
    }
    turn.note(UNENFORCED, lease, body)


def _in_the_way(turn: Turn, lease: OpenLease, until: datetime) -> Obstacle | None:
    if lease.pool is None or turn.desk.book.known is None or until <= turn.now:
        return None
    budgets = turn.budgets(turn.policy)
    if not budgets:
        return None
    # Prices are looked up for a day beyond the end; this reaches to the new one.
    longer = lease.model_copy(update={"ends_at": until})
    whole = spending_of(turn.policy, longer, turn.now)
    start = max(turn.now, lease.ends_at or turn.now)
    more = whole._replace(start_us=instant_us(start), end_us=instant_us(max(start, until)))
    inside = lease.standing is Standing.guaranteed
    return obstacle(budgets, more, turn.now, inside=inside)
