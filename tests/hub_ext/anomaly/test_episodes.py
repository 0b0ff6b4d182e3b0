"""What comes and goes is one episode, with its begin, its peak and its end."""

from dataclasses import replace
from datetime import datetime, timedelta

from hub_ext.anomaly import Change, Finding, advance, shown
from hub_ext.lease import LeaseId
from hub_ext.lease.anomalies import Anomaly
from tests.hub_ext.anomaly.scene import NOW, ago, lease

SETTLE = timedelta(minutes=10)
LEASE = lease()
FINDING = Finding(
    kind="hoarding",
    subject="l-1",
    since=ago(2),
    figure=50,
    words="Held.",
    act="notice",
    leases=(LEASE,),
    owner=LEASE.key.user,
    teams=(LEASE.team,),
)


def made(
    finding: Finding = FINDING, present: Anomaly | None = None, now: datetime = NOW
) -> Anomaly:
    return shown(finding, present, now, money_micro=1, currency="EUR")


def step(
    present: dict[tuple[str, str], Anomaly],
    *found: Anomaly,
    now: datetime,
    live: tuple[str, ...] = ("l-1",),
) -> Change:
    change = advance(present, found, live={LeaseId(one) for one in live}, settle=SETTLE, now=now)
    for one in (*change.begun, *change.going):
        present[one.kind, one.subject] = one
    for one in change.over:
        del present[one.kind, one.subject]
    return change


def test_it_begins_when_the_thing_began_and_keeps_its_peak() -> None:
    present: dict[tuple[str, str], Anomaly] = {}
    [first] = step(present, made(), now=NOW).begun
    assert (first.began, first.figure, first.peak) == (ago(2), 50, 50)
    later = NOW + timedelta(minutes=5)
    for figure in (90, 20):
        fresh = replace(FINDING, figure=figure, since=later)
        now_open = present["hoarding", "l-1"]
        [going] = step(present, made(fresh, now_open, later), now=later).going
        assert (going.id, going.began) == (first.id, first.began)
        assert (going.figure, going.peak) == (figure, 90)


def test_what_is_away_for_a_moment_is_the_same_and_ends_when_it_was_last_seen() -> None:
    present: dict[tuple[str, str], Anomaly] = {}
    [first] = step(present, made(), now=NOW).begun
    away = NOW + SETTLE - timedelta(seconds=1)
    assert step(present, now=away) == Change()
    [back] = step(present, made(FINDING, present["hoarding", "l-1"], away), now=away).going
    assert back.id == first.id
    [over] = step(present, now=away + SETTLE).over
    assert (over.id, over.ended) == (first.id, away)
    assert present == {}
    again = NOW + timedelta(hours=1)
    [second] = step(present, made(replace(FINDING, since=again), now=again), now=again).begun
    assert second.id != first.id


def test_it_is_over_at_once_when_its_lease_has_ended() -> None:
    present: dict[tuple[str, str], Anomaly] = {}
    step(present, made(), now=NOW)
    [over] = step(present, now=NOW + timedelta(seconds=30), live=()).over
    assert over.ended == NOW


def test_a_pool_has_no_lease_to_end_with() -> None:
    present: dict[tuple[str, str], Anomaly] = {}
    pool = replace(FINDING, kind="unallocated", subject="whole", leases=(), owner=None, teams=())
    step(present, made(pool), now=NOW)
    assert step(present, now=NOW + timedelta(minutes=1), live=()) == Change()


def test_the_same_begin_has_the_same_name_whoever_reckons_it() -> None:
    assert made().id == made(replace(FINDING, words="Otherwise said.", figure=1)).id
    assert made().id != made(replace(FINDING, subject="l-2")).id


def test_nothing_begins_in_the_future() -> None:
    assert made(replace(FINDING, since=NOW + timedelta(hours=1))).began == NOW
