"""Books drawn at random: leases with all that can split a charge, and the charges of them."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from hypothesis import strategies as st

from hub_ext.lease import (
    Cause,
    LeaseState,
    OpenLease,
    Posting,
    ProjectName,
    Standing,
    Stood,
    Stretch,
    TeamName,
    UserName,
)
from hub_ext.metering import charge
from hub_ext.policy.prices import PriceSpan
from tests.support.ledger_parts import NOON, SECOND, a_lease

SPAN_S = 60 * 86_400
"""All of it lies within so many seconds of noon, so that months end in it."""

FIRST, LAST = NOON - timedelta(days=400), NOON + timedelta(days=400)

ZONES = ["UTC", "Europe/Paris", "America/New_York", "Australia/Sydney", "Asia/Kathmandu"]

instants = st.integers(0, SPAN_S * 1_000_000).map(lambda us: NOON + timedelta(microseconds=us))
prices = st.none() | st.integers(0, 200_000_000)


class Held(NamedTuple):
    """A lease and the prices of its time."""

    lease: OpenLease
    spans: tuple[PriceSpan, ...]

    def lines(self, **more: Any) -> tuple[Posting, ...]:
        """Charge it to its end."""
        assert self.lease.closed_at is not None
        return charge(self.lease, self.spans, self.lease.closed_at, **more)


@st.composite
def price_spans(draw: st.DrawFn) -> tuple[PriceSpan, ...]:
    """Prices that may change at a few instants, from long before to long after."""
    cuts = sorted(set(draw(st.lists(instants, max_size=3))))
    edges = [FIRST, *cuts, LAST]
    return tuple(PriceSpan(first, last, draw(prices)) for first, last in pairwise(edges))


@st.composite
def leases(draw: st.DrawFn, name: str = "L1") -> Held:
    """A closed lease: that moved up, whose device was at fault, whose stop took too long."""
    start, end = sorted([draw(instants), draw(instants)])
    stood: tuple[Stood, ...] = ()
    if draw(st.booleans()):
        stood = (Stood(standing=Standing.borrowed, until=draw(instants)),)
    waived: tuple[Stretch, ...] = ()
    if draw(st.booleans()):
        first, last = sorted([draw(instants), draw(instants)])
        waived = (Stretch(start=first, end=last),)
    lease = a_lease(
        name,
        LeaseState.closed,
        assigned_at=start,
        started_at=draw(st.none() | st.just(start)),
        closed_at=end,
        stood=stood,
        waived=waived,
        stop_asked_at=draw(st.none() | instants),
        team=TeamName(draw(st.sampled_from(["vision", "speech"]))),
        project=draw(st.sampled_from([None, ProjectName("maps")])),
        currency=draw(st.sampled_from(["EUR", "GPUH"])),
        cause=draw(st.sampled_from([None, Cause.user, Cause.culled])),
        units=840 * draw(st.integers(1, 3)),
    )
    return Held(lease, draw(price_spans()))


@st.composite
def charged(draw: st.DrawFn) -> list[Posting]:
    """Charges of a few leases of a few people."""
    found: list[Posting] = []
    for number in range(draw(st.integers(0, 5))):
        held = draw(leases(f"L{number}"))
        user = UserName(draw(st.sampled_from(["ada", "bo", "cy"])))
        own = held.lease.model_copy(
            update={"key": held.lease.key.model_copy(update={"user": user})}
        )
        found += held._replace(lease=own).lines(stop_limit=draw(st.none() | st.just(300 * SECOND)))
    return found


def in_utc(year: int, month: int, day: int = 1) -> datetime:
    """Midnight of a day."""
    return datetime(year, month, day, tzinfo=UTC)
