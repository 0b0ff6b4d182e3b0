"""The page of reservations: a week as a calendar and as a table, whose they are, and a form."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from ...i18n import _
from ...lease import UserName, When
from ...lease.reserving import Reservation, ReservationId, ReservationSheet, ReservedTime
from ...policy.catalogue import Person, may_choose, teams_of
from ...policy.model import Policy, flavor_kind
from ...reservation import instant_of, occurrences
from ...units import duration_text
from ..api.reservations import sheet_of
from ..basis.access import Caller
from ..books import formats
from ..core.governor import Governor
from ..reserving.making import may_reserve

_DAYS = 7
_MOST_DAYS = 366
_MOST_WEEKS = 26

NOBODYS = ReservationId("")
"""Id of none."""


Known = Mapping[ReservationId, Reservation]


@dataclass(frozen=True)
class Week:
    """Seven days on the policy's clock, from a Monday on."""

    monday: date
    zone: str

    @classmethod
    def of(cls, text: str, now: datetime, zone: str) -> "Week":
        """Read `2026-W49`; anything else is the week of `now`."""
        today = datetime.fromisoformat(formats.local_date(now, zone)).date()
        present = today - timedelta(days=today.weekday())
        try:
            monday = datetime.strptime(f"{text}-1", "%G-W%V-%u").date()  # noqa: DTZ007 - a day alone
        except ValueError:
            monday = present
        # Farther off nothing can be reserved, and at last the calendar ends.
        return cls(monday if abs((monday - today).days) <= _MOST_DAYS else present, zone)

    def name(self, shift: int = 0) -> str:
        """Name the week as `of` reads it, or one some weeks later."""
        return f"{self.monday + timedelta(weeks=shift):%G-W%V}"

    def edge(self, day: int) -> datetime:
        """First instant of its n-th day."""
        return instant_of(datetime.combine(self.monday + timedelta(days=day), time.min), self.zone)


@dataclass(frozen=True)
class Figures:
    """What the page is made of."""

    week: Week
    sheet: ReservationSheet
    policy: Policy | None
    caller: Caller
    now: datetime
    offers: tuple[tuple[str, str], ...]


def gather(core: Governor, caller: Caller, week: str, now: datetime) -> Figures:
    """Read one week, and all reservations that the caller may see."""
    policy = core.known_policy
    zone = policy.timezone if policy is not None else "UTC"
    shown = Week.of(week, now, zone)
    sheet = sheet_of(core, caller, shown.edge(0), shown.edge(_DAYS), now)
    offers = _offers(policy, caller) if policy is not None else ()
    return Figures(shown, sheet, policy, caller, now, offers)


def _offers(policy: Policy, caller: Caller) -> tuple[tuple[str, str], ...]:
    """What the caller may reserve: the value of the form's choice, and its words."""
    person = Person(user=UserName(caller.name), groups=caller.groups)
    mine = teams_of(policy, person)
    teams = [
        team
        for team in policy.teams
        if caller.admin or team in mine or team in caller.leads(policy)
    ]
    return tuple(
        (f"{name}/{team}", _("{title} for team {team}").format(title=profile.title, team=team))
        for name, profile in policy.profiles.items()
        for team in teams
        if profile.pool is not None
        and flavor_kind(profile.flavor) != "share"
        and may_choose(policy, team, name)
        and may_reserve(policy, caller, team, profile.pool)
    )


def sheet(figures: Figures) -> dict[str, object]:
    """Put it into words."""
    week = figures.week
    known = {one.id: one for one in figures.sheet.reservations}
    return {
        "week": week.name(),
        "earlier": week.name(-1),
        "later": week.name(1),
        "title_of_week": _("Week of {day}").format(day=f"{week.monday:%Y-%m-%d}"),
        "days": [_day(figures, known, day) for day in range(_DAYS)],
        "times": [_row(one, known, figures) for one in figures.sheet.times],
        "reservations": [_reservation(one, figures) for one in figures.sheet.reservations],
        "offers": figures.offers,
        "others": figures.caller.admin or bool(figures.caller.leads(figures.policy)),
        "rules": _rules(figures.policy) if figures.policy is not None else (),
        "whens": (
            (When.hold.value, _("hold the GPUs; I start the server")),
            (When.start.value, _("start the server for me")),
        ),
        "alones": (
            ("", _("no, other GPUs there may be used by others")),
            ("gpu", _("the whole GPU")),
            ("node", _("the whole machine")),
        )
        if figures.policy and any(pool.exclusive for pool in figures.policy.pools.values())
        else (),
    }


def _day(figures: Figures, known: Known, day: int) -> dict[str, object]:
    first, last = figures.week.edge(day), figures.week.edge(day + 1)
    date_of = figures.week.monday + timedelta(days=day)
    return {
        "title": f"{date_of:%a %d %b}",
        "entries": [
            {
                "span": _span(one, first, last, figures.week.zone),
                "what": _("{gpus} of {pool}").format(gpus=_gpus(one), pool=one.pool),
                "whose": _whose(one, known, figures),
                "mine": one.reservation is not None,
            }
            for one in figures.sheet.times
            if one.start < last and first < one.end
        ],
    }


def _span(one: ReservedTime, first: datetime, last: datetime, zone: str) -> str:
    start = formats.clock(one.start, zone) if one.start >= first else _("day before")
    end = formats.clock(one.end, zone) if one.end <= last else _("day after")
    return _("{start} to {end}").format(start=start, end=end)


def _row(one: ReservedTime, known: Known, figures: Figures) -> dict[str, object]:
    zone = figures.week.zone
    return {
        "start": formats.minute(one.start, zone),
        "end": formats.minute(one.end, zone),
        "pool": one.pool,
        "gpus": _gpus(one),
        "whose": _whose(one, known, figures),
    }


def _gpus(one: ReservedTime) -> str:
    return _("{n} GPU").format(n=one.gpus) if one.gpus == "1" else _("{n} GPUs").format(n=one.gpus)


def _whose(one: ReservedTime, known: Known, figures: Figures) -> str:
    """Say whose it is to those who may know; to others it is reserved, and no more."""
    found = known.get(one.reservation or NOBODYS)
    if found is None:
        return _("reserved")
    if found.key.user == figures.caller.name:
        return _("yours")
    return _("{user}, team {team}").format(user=found.key.user, team=found.team)


def _reservation(one: Reservation, figures: Figures) -> dict[str, object]:
    length = duration_text(one.ends - one.starts)
    words = _("{start} for {span}, {zone}").format(
        start=f"{one.starts:%Y-%m-%d %H:%M}", span=length, zone=one.zone
    )
    if one.weekly_until is not None:
        words = _("{words}, weekly until {day}").format(words=words, day=one.weekly_until)
    if one.skipped:
        days = ", ".join(str(day) for day in one.skipped)
        words = _("{words}, but not on {days}").format(words=words, days=days)
    return {
        "id": one.id,
        "when": words,
        "owner": one.key.user,
        "server": formats.server_name(one.key.server),
        "team": one.team,
        "project": one.project or _("no project"),
        "profile": one.profile,
        "pool": one.pool,
        "gpus": formats.gpus(one.units),
        "alone": {"gpu": _("whole GPU"), "node": _("whole machine")}.get(one.alone or "", ""),
        "reason": one.reason or _("not said"),
        "state": state_words(one, figures.week.zone),
        "days": days_to_come(one, figures.now),
        "mine": one.key.user == figures.caller.name,
        "path": f"{one.key.user}/{one.key.server}" if one.key.server else one.key.user,
        "due": one.current is not None and not one.current.used,
    }


def days_to_come(one: Reservation, now: datetime) -> tuple[str, ...]:
    """Days of the next times of a weekly one, any of which can be left out; none where it is once.

    The last of them is called off with the reservation.
    """
    if one.weekly_until is None:
        return ()
    far, zone = now + timedelta(weeks=_MOST_WEEKS), ZoneInfo(one.zone)
    starts = [time.start for time in occurrences(one, now, far) if time.start > now]
    return tuple(f"{at.astimezone(zone):%Y-%m-%d}" for at in starts) if len(starts) > 1 else ()


def state_words(one: Reservation, zone: str) -> str:
    """Say how far a reservation is, and what its owner can do."""
    current = one.current
    if current is None:
        return _("to come")
    until = formats.instant(current.end, zone)
    if current.reason is not None:
        return current.reason.message
    if current.kept_since is not None:
        return _("GPUs are held for it; its time ends at {until}.").format(until=until)
    return _("in use; its time ends at {until}.").format(until=until)


def _rules(policy: Policy) -> tuple[str, ...]:
    return tuple(
        _(
            "Pool {pool}: {by}; at most {most} reserved at once, {longest} at a time, {ahead} "
            "ahead. Who does not come within {no_show} loses it. Time in which GPUs are kept and "
            "not used costs {percent} % of the price."
        ).format(
            pool=name,
            by=_("leads reserve") if rule.by == "leads" else _("every member reserves"),
            most=formats.gpus(rule.most),
            longest=duration_text(rule.longest),
            ahead=duration_text(rule.ahead),
            no_show=duration_text(rule.no_show),
            percent=rule.unused_percent,
        )
        for name, pool in policy.pools.items()
        if (rule := pool.reservable) is not None
    )
