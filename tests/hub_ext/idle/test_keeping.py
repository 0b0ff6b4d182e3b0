"""What is left to keep a server for: each time, for one server, within seven days."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.idle.keeping import WEEK, Keepable, Kept, free_at, keepable, week_kept
from hub_ext.policy.model import IdleRule
from hub_ext.policy.model.keep import KeepTimes, keep_server, keep_week
from tests.hub_ext.idle.test_laws import lease
from tests.support.pools import NOON

HOUR = timedelta(hours=1)
TIMES = {"each": "2h", "server": "6h", "week": "10h"}


def ruled(keep: object = None) -> IdleRule:
    told = {"applies": ["gpu"], "limit": "1h", "notice": "5m", "keep": keep or TIMES}
    return IdleRule.model_validate(told)


def kept(ago_h: float, hours: float) -> Kept:
    start = NOON - ago_h * HOUR
    return Kept(start, start + hours * HOUR, start)


def stands(
    *stretches: Kept, rule: IdleRule | None = None, more_h: int = 0, **of: object
) -> Keepable:
    more = more_h * HOUR
    return keepable(rule or ruled(), "gpu", lease(**of), stretches, NOON, more=more)


def test_one_keep_lasts_as_long_as_the_policy_says() -> None:
    can = stands()
    assert (can.adds, can.until, can.ends_by) == (2 * HOUR, NOON + 2 * HOUR, "")


def test_what_is_kept_already_is_only_filled_up() -> None:
    can = stands(kept(0.5, 2), kept_until=NOON + 1.5 * HOUR)
    assert (can.adds, can.until) == (HOUR / 2, NOON + 2 * HOUR)


def test_a_server_and_a_week_have_an_end_and_the_last_keep_is_as_long_as_is_left() -> None:
    server = stands(kept_s=5 * 3600)
    assert (server.adds, server.ends_by) == (HOUR, "server")
    week = stands(kept(100, 9))
    assert (week.adds, week.ends_by, week.week_kept) == (HOUR, "week", 9 * HOUR)
    assert stands(kept(100, 10)).adds == timedelta(0)


def test_less_than_a_minute_is_none() -> None:
    assert stands(kept_s=6 * 3600 - 59).adds == timedelta(0)
    assert stands(kept_s=6 * 3600 - 60).adds == timedelta(minutes=1)


def test_a_keep_of_seconds_is_one_where_the_policy_says_so() -> None:
    can = stands(rule=ruled("10s"))
    assert (can.adds, can.ends_by) == (timedelta(seconds=10), "")


def test_what_is_older_than_a_week_does_not_count_and_half_of_what_lies_across() -> None:
    assert week_kept((kept(24 * 7 + 3, 2), kept(24 * 7 + 1, 2)), NOON) == HOUR


def test_nobody_keeps_beyond_the_end_of_the_lifetime() -> None:
    can = stands(ends_at=NOON + HOUR)
    assert (can.adds, can.ends_by) == (HOUR, "lifetime")


def test_a_grant_adds_to_both_limits() -> None:
    full = kept(100, 10)
    assert stands(full, kept_s=6 * 3600).adds == timedelta(0)
    can = stands(full, kept_s=6 * 3600, more_h=3)
    assert (can.adds, can.server_limit, can.week_limit) == (2 * HOUR, 9 * HOUR, 13 * HOUR)


def test_it_is_told_when_the_week_has_room_again() -> None:
    full = (kept(100, 8), kept(50, 2))
    at = free_at(full, 10 * HOUR, NOON)
    assert at is not None
    assert week_kept(full, at) <= 10 * HOUR - timedelta(minutes=1)
    assert at == full[0].start + WEEK + timedelta(minutes=1)
    assert free_at(full, 11 * HOUR, NOON) is None


def test_a_time_alone_is_that_of_one_keep_and_never_more_than_all_of_them() -> None:
    times = ruled("30h").keep
    assert times.each == 30 * HOUR
    assert (keep_server(times, "gpu"), keep_week(times, "gpu")) == (30 * HOUR, 30 * HOUR)
    assert (keep_server(KeepTimes(), "gpu"), keep_week(KeepTimes(), "mig")) == (
        12 * HOUR,
        2 * 24 * HOUR,
    )


def test_a_policy_can_let_nobody_keep() -> None:
    can = stands(rule=ruled("0s"))
    assert (can.adds, can.ends_by) == (timedelta(0), "none")


@given(data=st.data())
def test_no_seven_days_ever_hold_more_than_the_limits(data: st.DataObject) -> None:
    """Asks at any times for three servers, each made where `keepable` lets it be."""
    rule = ruled()
    now, of, made = NOON, {n: lease() for n in range(3)}, list[Kept]()
    for _ in range(data.draw(st.integers(1, 40))):
        now += timedelta(minutes=data.draw(st.integers(0, 3000)))
        n = data.draw(st.integers(0, 2))
        can = keepable(rule, "gpu", of[n], made, now)
        if can.adds:
            made.append(Kept(can.until - can.adds, can.until, now))
            kept_s = of[n].kept_s + int(can.adds.total_seconds())
            of[n] = of[n].model_copy(update={"kept_until": can.until, "kept_s": kept_s})
        assert can.adds <= rule.keep.each
    assert all(one.kept_s <= 6 * 3600 for one in of.values())
    for edge in {one.start for one in made} | {one.end - WEEK for one in made}:
        inside = [max(timedelta(0), min(x.end, edge + WEEK) - max(x.start, edge)) for x in made]
        assert sum(inside, timedelta(0)) <= 10 * HOUR
