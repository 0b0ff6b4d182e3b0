"""Reservations are made and called off here, by those with the right and within the limits.

What becomes of one when its time comes is in `reserved`.
"""

import secrets
from datetime import date, datetime, timedelta
from http import HTTPStatus
from zoneinfo import ZoneInfo

from ...errors import RefusedError
from ...i18n import _
from ...lease import (
    Cause,
    Choice,
    Device,
    LeaseState,
    PoolName,
    Reason,
    ServerKey,
    ServerName,
    TeamName,
    UserName,
)
from ...lease.reserving import Reservation, ReservationId, ReservationWish, Reserved
from ...ledger.reservations import CANCELLED, CHANGED, MADE
from ...policy.catalogue import Person, Resolved, resolve, teams_of
from ...policy.devices import unlisted
from ...policy.model import Policy
from ...reservation import Books, check_wish, conflict, not_reservable, occurrences
from ...units import gpus_text
from ..basis.access import Caller
from ..books.desk import Desk, Turn
from ..books.floor import declared
from ..books.outages import serving
from ..books.reservedtimes import Times
from ..leasing.closing import End, close
from ..money.reservedcharges import charged
from ..money.valuing import HOW_TO_SAY_OF_RESERVED, check_purpose

MOST_OF_ONE = 20
"""Reservations of one person that are not over."""

_FAR = timedelta(days=3650)
_MOST_NAMED = 4


def make(
    desk: Desk,
    wish: ReservationWish,
    caller: Caller,
    *,
    groups: tuple[str, ...] | None = None,
    now: datetime,
) -> Reservation:
    """Make a reservation, or say with figures why it cannot be.

    Parameters
    ----------
    groups
        Hub groups of somebody else whom it is for; None where no hub could be asked.

    Raises
    ------
    RefusedError
        403 without the right, 400 beyond a limit, 409 where something stands against it.
    """
    with desk.turn(now, caller.acting(wish.by)) as turn:
        policy = desk.book.policy
        _check_names(wish)
        person = _owner(policy, wish, caller, groups)
        choice = Choice(
            profile=wish.profile, team=wish.team, project=wish.project, alone=wish.alone
        )
        resolved = resolve(policy, person, choice, now)
        _check_right(policy, resolved, caller, person)
        # What it is for becomes the purpose of each lease that is opened for it.
        check_purpose(turn, resolved, wish.reason.strip(), HOW_TO_SAY_OF_RESERVED)
        one = _reservation(turn, wish, resolved)
        refused = unlisted(policy, one.project, one.pool, one.flavor, one.alone)
        if refused is not None:
            raise refused
        check_wish(policy, one, now)
        _check_team(policy, resolved)
        mine = [x for x in turn.tx.reservations() if x.key.user == one.key.user]
        if len(mine) >= MOST_OF_ONE:
            raise _too_many()
        against = conflict(one, _books(turn))
        if against is not None:
            raise RefusedError(against.code, against.message, figures=against.figures)
        turn.tx.record_reservation(one, MADE, actor=turn.actor, at=now)
        desk.changed.add(one.key)
        return one


def cancel(desk: Desk, wanted: str, caller: Caller, *, by: str = "", now: datetime) -> Reservation:
    """Call a reservation off; what is held for it is free at once, and a running server goes on.

    Raises
    ------
    RefusedError
        404 where there is none that the caller may see.
    """
    with desk.turn(now, caller.acting(by)) as turn:
        one = turn.tx.reservation(ReservationId(wanted))
        if one is None or not may_see(caller, one, desk.book.known):
            raise no_such_reservation()
        why = Reason(
            code="reservation-cancelled",
            message=_("{name} called this reservation off.").format(name=turn.actor.name),
        )
        return called_off(turn, one, why)


def skip(
    desk: Desk, wanted: str, day: date, caller: Caller, *, by: str = "", now: datetime
) -> Reservation:
    """Leave out the time of a weekly reservation that starts on a day of its zone.

    Raises
    ------
    RefusedError
        404 where there is none that the caller may see; 409 where no time to come starts then, or
        none would be left.
    """
    with desk.turn(now, caller.acting(by)) as turn:
        one = turn.tx.reservation(ReservationId(wanted))
        if one is None or not may_see(caller, one, desk.book.known):
            raise no_such_reservation()
        after = one.model_copy(update={"skipped": tuple(sorted({*one.skipped, day}))})
        times, left = _to_come(one, now), _to_come(after, now)
        if len(left) == len(times):
            raise _no_such_time(one, day, times)
        if not left:
            raise RefusedError(
                "last-time",
                _("No other time of it is to come: call the reservation off instead."),
                figures={"reservation": one.id},
            )
        turn.tx.record_reservation(after, CHANGED, actor=turn.actor, at=now)
        desk.changed.add(one.key)
        return after


def _to_come(one: Reservation, now: datetime) -> list[datetime]:
    return [time.start for time in occurrences(one, now, now + _FAR) if time.start > now]


def _no_such_time(one: Reservation, day: date, times: list[datetime]) -> RefusedError:
    zone = ZoneInfo(one.zone)
    days = ", ".join(f"{at.astimezone(zone):%Y-%m-%d}" for at in times[:_MOST_NAMED])
    return RefusedError(
        "no-such-time",
        _("No time of this reservation is to start on {day}. It starts on: {days}.").format(
            day=day, days=days or _("no day to come")
        ),
        figures={"reservation": one.id, "day": str(day)},
    )


def called_off(turn: Turn, one: Reservation, why: Reason) -> Reservation:
    """End a reservation for good."""
    current = one.current
    lease = turn.tx.lease(current.lease_id) if current and current.lease_id else None
    one = charged(turn, one, turn.now)
    if lease is not None and lease.state in {LeaseState.held, LeaseState.queued}:
        close(turn, lease, End(Cause.cancelled, reason=why))
    ended = one.model_copy(update={"over": True, "current": None, "ended": why})
    turn.tx.record_reservation(ended, CANCELLED, actor=turn.actor, at=turn.now)
    turn.desk.changed.add(one.key)
    return ended


def may_see(caller: Caller, one: Reservation, policy: Policy | None) -> bool:
    """Whether a caller may know whose a reservation is, and call it off."""
    return caller.owns(one.key) or one.team in caller.leads(policy)


def may_reserve(policy: Policy, caller: Caller, team: str, pool: str) -> bool:
    """Whether a caller may reserve of a pool for a team that they are in or lead."""
    rule = policy.pools[pool].reservable
    if rule is None:
        return False
    return caller.admin or rule.by == "everyone" or team in caller.leads(policy)


def listed(
    desk: Desk, first: datetime, last: datetime
) -> tuple[tuple[Reservation, ...], tuple[Reserved, ...]]:
    """Read all reservations that are not over, and their times that touch [first, last)."""
    with desk.ledger.transaction() as tx:
        every = tx.reservations()
        return every, Times().between(every, tx.leases(), first, last)


def no_such_reservation() -> RefusedError:
    """Say the same for one that is not there and for one of others."""
    return RefusedError(
        "no-such-reservation",
        _("There is no such reservation of yours: it is over, called off, or somebody else's."),
        status=HTTPStatus.NOT_FOUND,
    )


def _check_names(wish: ReservationWish) -> None:
    """Let no name through that no hub has: it would stand in the way only once its time comes."""
    if wish.user != "" and f"{wish.user or ''}{wish.server}".isprintable():
        return
    raise RefusedError(
        "bad-name",
        _("The names of a person and of a server have printable characters alone."),
        status=HTTPStatus.BAD_REQUEST,
    )


def _owner(
    policy: Policy, wish: ReservationWish, caller: Caller, groups: tuple[str, ...] | None
) -> Person:
    """Whose it is: the caller's own, or, by a lead's or admin's word, a member's of the team."""
    if caller.kind == "person" and wish.user in {None, caller.name}:
        return Person(user=UserName(caller.name), groups=caller.groups)
    if wish.user is None or wish.team is None:
        raise RefusedError(
            "whose-reservation",
            _("Name both the person and the team that you reserve for."),
            status=HTTPStatus.BAD_REQUEST,
        )
    if not caller.admin and wish.team not in caller.leads(policy):
        raise RefusedError(
            "not-your-team",
            _("Only a lead of team {team} may reserve for others in it.").format(
                team=repr(wish.team[:80])
            ),
            status=HTTPStatus.FORBIDDEN,
        )
    if wish.team not in policy.teams:
        raise RefusedError(
            "no-such-team",
            _("The policy has no team {team}.").format(team=repr(wish.team[:80])),
            status=HTTPStatus.BAD_REQUEST,
        )
    if groups is None:
        # A command while the governor is down; whoever claims it is looked at again.
        return Person(user=wish.user, groups=policy.teams[wish.team].groups)
    person = Person(user=wish.user, groups=groups)
    if wish.team not in teams_of(policy, person):
        raise _no_member(policy, wish.user, wish.team)
    return person


def _no_member(policy: Policy, user: str, team: str) -> RefusedError:
    groups = ", ".join(policy.teams[TeamName(team)].groups) or _("none")
    return RefusedError(
        "not-a-member",
        _(
            "The hub knows nobody called {user} in team {team}, whose groups are: {groups}. "
            "Reserve for a member, or ask an administrator to add {user} to a group."
        ).format(user=user, team=team, groups=groups),
        figures={"user": user, "team": team},
        status=HTTPStatus.FORBIDDEN,
    )


def _check_right(policy: Policy, resolved: Resolved, caller: Caller, person: Person) -> None:
    if resolved.pool is None:
        raise RefusedError(
            "not-reservable",
            _("A server without a GPU needs no reservation; it always starts."),
            status=HTTPStatus.BAD_REQUEST,
        )
    rule = policy.pools[resolved.pool].reservable
    if rule is None or may_reserve(policy, caller, resolved.team, resolved.pool):
        # Where nothing may be reserved, the limits say so, and which pools there are.
        return
    leads = ", ".join(policy.teams[resolved.team].leads) or _("nobody")
    raise RefusedError(
        "reservation-by-leads",
        _(
            "Pool {pool} is reserved by the leads of a team alone; those of {team} are: {leads}. "
            "Ask one of them to reserve for {user}."
        ).format(pool=resolved.pool, team=resolved.team, leads=leads, user=person.user),
        status=HTTPStatus.FORBIDDEN,
    )


def _check_team(policy: Policy, resolved: Resolved) -> None:
    limit = policy.teams[resolved.team].largest_request
    if limit is not None and resolved.units > limit:
        raise RefusedError(
            "largest-request",
            _(
                "One server of team {team} may hold at most {limit} GPUs; this takes {wants}."
            ).format(team=resolved.team, limit=gpus_text(limit), wants=gpus_text(resolved.units)),
            status=HTTPStatus.BAD_REQUEST,
        )


def _too_many() -> RefusedError:
    return RefusedError(
        "too-many-reservations",
        _("A person has at most {most} reservations at once. Call one off first.").format(
            most=MOST_OF_ONE
        ),
    )


def _reservation(turn: Turn, wish: ReservationWish, resolved: Resolved) -> Reservation:
    policy = turn.desk.book.policy
    rule = policy.pools[str(resolved.pool)].reservable
    if rule is None:
        raise not_reservable(policy, str(resolved.pool))
    return Reservation(
        id=ReservationId(f"r-{secrets.token_hex(6)}"),
        key=ServerKey(
            hub=turn.desk.settings.hub,
            user=resolved.person.user,
            server=ServerName(wish.server),
        ),
        groups=resolved.person.groups,
        choice=resolved.choice,
        team=resolved.team,
        project=resolved.project,
        profile=resolved.profile,
        pool=PoolName(str(resolved.pool)),
        flavor=resolved.flavor,
        units=resolved.units,
        alone=wish.alone,
        starts=wish.starts,
        ends=wish.ends,
        zone=_zone(wish.zone or policy.timezone),
        weekly_until=wish.weekly_until,
        skipped=tuple(sorted(set(wish.skipped))),
        when=wish.when,
        reason=wish.reason,
        made_at=turn.now,
        made_by=turn.actor.name,
        no_show_s=int(rule.no_show.total_seconds()),
        unused_percent=rule.unused_percent,
    )


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise RefusedError(
            "bad-time",
            _("{zone} is no time zone; write for example Europe/Paris or UTC.").format(
                zone=repr(name[:80])
            ),
            status=HTTPStatus.BAD_REQUEST,
        ) from None
    return name


def _devices(turn: Turn, policy: Policy) -> tuple[Device, ...]:
    """Devices in service; of a pool whose agents are all silent just now, those declared."""
    found = turn.desk.in_service(policy, now=turn.now)
    known = {device.pool for device in found}
    silent = tuple(device for device in declared(policy) if device.pool not in known)
    return (*found, *serving(silent, turn.desk.outages, turn.now, policy.notice.lifetime))


def _books(turn: Turn) -> Books:
    policy, leases = turn.desk.book.policy, turn.tx.leases()
    return Books(
        policy=policy,
        now=turn.now,
        devices=_devices(turn, policy),
        leases=leases,
        owners=turn.desk.pins.owners_in(policy),
        maintenance=turn.desk.outages.announced(turn.now),
        others=Times().between(turn.tx.reservations(), leases, turn.now, turn.now + _FAR),
    )
