"""Reservations: listed, made and called off. Others' are shown as reserved time without a name."""

from datetime import date, datetime, timedelta
from http import HTTPStatus

from ...admission.snapshot import may_use
from ...i18n import _
from ...lease import ShortText, UserName, Value
from ...lease.reserving import (
    Reservation,
    ReservationSheet,
    ReservationWish,
    Reserved,
    ReservedTime,
)
from ...policy.catalogue import Person, teams_of
from ...policy.model import Policy
from ...units import gpus_text
from ..basis.access import Caller
from ..core.governor import Governor
from ..http.members import groups_for
from ..http.web import BaseHandler
from ..reserving.making import may_see
from .queries import whole_number
from .route import Query, Route

DEFAULT_DAYS = 28
MOST_DAYS = 92


class CallOff(Value):
    """`POST reservations/{reservation}/cancel`; `by` is who typed it on the hub's machine."""

    by: ShortText = ""


class Skip(Value):
    """`POST reservations/{reservation}/skip`: the day on which the time begins that is left out."""

    day: date
    by: ShortText = ""


def sheet_of(
    core: Governor, caller: Caller, first: datetime, last: datetime, now: datetime
) -> ReservationSheet:
    """Gather what a caller may see of reservations and of the times of pools they may use."""
    policy = core.known_policy
    every, times = core.reserved(first, last)
    seen = {one.id for one in every if may_see(caller, one, policy)}
    pools = _pools(policy, caller)
    return ReservationSheet(
        at=now,
        timezone=policy.timezone if policy is not None else "UTC",
        reservations=tuple(one for one in every if one.id in seen),
        times=tuple(
            _time(one, known=one.id in seen)
            for one in sorted(times, key=lambda one: (one.start, one.pool, one.id))
            if one.id in seen or one.pool in pools
        ),
    )


def _pools(policy: Policy | None, caller: Caller) -> frozenset[str]:
    if policy is None:
        return frozenset()
    if caller.admin:
        return frozenset(policy.pools)
    person = Person(user=UserName(caller.name), groups=caller.groups)
    teams = {*teams_of(policy, person), *caller.leads(policy)}
    return frozenset(pool for pool in policy.pools if any(may_use(policy, x, pool) for x in teams))


def _time(one: Reserved, *, known: bool) -> ReservedTime:
    return ReservedTime(
        pool=one.pool,
        gpus=gpus_text(one.units),
        start=one.start,
        end=one.end,
        reservation=one.id if known else None,
    )


class ReservationsHandler(BaseHandler):
    """`GET reservations`, `POST reservations`: those that there are, and one more."""

    act = _("see or make reservations")

    async def get(self) -> None:
        """List them."""
        days = min(whole_number(self, "days") or DEFAULT_DAYS, MOST_DAYS)
        caller = self.caller
        self.answer(
            await self.core.run(
                lambda core, now: sheet_of(core, caller, now, now + timedelta(days=days), now)
            )
        )

    async def post(self) -> None:
        """Make one, or say what stands against it."""
        wish, caller = self.body(ReservationWish), self.caller
        groups = await groups_for(self.settings["people"], wish, caller)
        made = await self.core.run(
            lambda core, now: core.reserve(wish, caller, groups=groups, now=now)
        )
        self.answer(made, HTTPStatus.CREATED)


class CancelReservationHandler(BaseHandler):
    """`POST reservations/{reservation}/cancel`: call one off."""

    act = _("call reservations off")

    async def post(self, reservation: str) -> None:
        """Call it off, with all its times to come."""
        said = self.body(CallOff) if self.request.body else CallOff()
        caller = self.caller
        self.answer(
            await self.core.run(
                lambda core, now: core.cancel_reservation(reservation, caller, by=said.by, now=now)
            )
        )


class SkipReservationHandler(BaseHandler):
    """`POST reservations/{reservation}/skip`: leave one time of a weekly one out."""

    act = _("leave times of reservations out")

    async def post(self, reservation: str) -> None:
        """Leave it out; the others stay."""
        said, caller = self.body(Skip), self.caller

        def act(core: Governor, now: datetime) -> Reservation:
            return core.skip_reservation(reservation, said.day, caller, by=said.by, now=now)

        self.answer(await self.core.run(act))


RESERVATION_ROUTES = (
    Route(
        "GET",
        "reservations",
        ReservationsHandler,
        _("Reservations that the caller may see, and reserved times of their pools"),
        _("people; the service `gpu-commons-cli`"),
        gives=ReservationSheet,
        queries=(Query("days", _("how far ahead; 28 if absent, at most 92"), "integer"),),
    ),
    Route(
        "POST",
        "reservations",
        ReservationsHandler,
        _("Reserve GPUs for a time to come, once or weekly"),
        _("as the pool's `reservable.by` says; leads for members of their teams, admins for all"),
        takes=ReservationWish,
        gives=Reservation,
        status=201,
    ),
    Route(
        "POST",
        "reservations/{reservation}/cancel",
        CancelReservationHandler,
        _("Call a reservation off"),
        _("the owner, leads of the team, admins"),
        takes=CallOff,
        gives=Reservation,
    ),
    Route(
        "POST",
        "reservations/{reservation}/skip",
        SkipReservationHandler,
        _("Leave one time of a weekly reservation out"),
        _("the owner, leads of the team, admins"),
        takes=Skip,
        gives=Reservation,
    ),
)
