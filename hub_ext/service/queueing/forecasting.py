"""Keeps forecasts: what they are made from is taken in the core, the courses are run beside it."""

from collections.abc import Mapping
from datetime import datetime

from ...admission.forecast import Known
from ...admission.lives import lives
from ...admission.snapshot import Snapshot
from ...idle import rule_of
from ...lease import LeaseId, OfferSheet, Standing, VerdictState
from ..books.desk import Desk
from ..books.foreseen import Ground
from ..reclaim.stops import kind_of
from .learning import read_on


def look(desk: Desk, *, now: datetime) -> Ground | None:
    """Take what a forecast is made from; None while the newest still holds."""
    if desk.book.known is None:
        return None
    with desk.turn(now) as turn:
        mark = (turn.tx.head(), desk.book.state.generation)
        if not desk.foreseen.due(mark, now):
            return None
        snapshot = turn.snapshot()
        read_on(turn)
    learned = desk.foreseen.learned
    return Ground(snapshot, Known(lives(learned), learned, _idle_ends(desk, snapshot)), mark)


def with_forecasts(desk: Desk, sheet: OfferSheet, now: datetime) -> OfferSheet:
    """Tell on each offer that would have to wait when it would start."""
    offers = tuple(
        one.model_copy(update={"forecast": desk.foreseen.coming(one.team, one.profile, now)})
        if one.standing is Standing.would_queue
        else one
        for one in sheet.offers
    )
    return sheet.model_copy(update={"offers": offers})


def _idle_ends(desk: Desk, snapshot: Snapshot) -> Mapping[LeaseId, datetime]:
    """When idle rules would stop the servers that are quiet now, if they stay so."""
    if snapshot.policy.modes.idle != "enforce":
        return {}
    found: dict[LeaseId, datetime] = {}
    for lease in snapshot.leases:
        verdict = desk.verdicts.get(lease.id)
        if verdict is None or verdict.state not in {VerdictState.quiet, VerdictState.idle}:
            continue
        rule = rule_of(snapshot.policy, lease, kind_of(lease))
        if rule is None or verdict.quiet_since is None:
            continue
        ends = verdict.quiet_since + rule[1].limit
        found[lease.id] = max(ends, lease.kept_until or ends) + rule[1].notice
    return found
