"""Reservations on the books: made, opened and ended by events, and the same when made again."""

import pytest

from hub_ext.errors import LedgerError
from hub_ext.lease import GOVERNOR
from hub_ext.lease.reserving import Opening, Reservation, ReservationId
from hub_ext.ledger.backup import backup
from hub_ext.ledger.reservations import CANCELLED, CHANGED, MADE, NO_SHOW, OPENED, RELEASED
from tests.support.ledger_parts import NOON, SECOND
from tests.support.ledger_places import Place
from tests.support.reserving import reservation

MORNING = reservation("2026-12-01 09:00", "2026-12-01 12:00", name="r-1")
WEEKLY = reservation("2026-12-02 09:00", "2026-12-02 12:00", name="r-2", weekly_until="2026-12-30")


def put(where: Place, *steps: tuple[Reservation, str]) -> None:
    ledger = where.open()
    try:
        with ledger.transaction() as tx:
            for one, kind in steps:
                tx.record_reservation(one, kind, actor=GOVERNOR, at=NOON)
    finally:
        ledger.close()


def opened(one: Reservation) -> Reservation:
    times = Opening(start=NOON, end=NOON + 3600 * SECOND, kept_since=NOON)
    return one.model_copy(update={"current": times})


def over(one: Reservation) -> Reservation:
    return one.model_copy(update={"over": True, "current": None})


def test_what_was_made_is_there_until_it_is_over(where: Place) -> None:
    put(where, (MORNING, MADE), (WEEKLY, MADE), (opened(MORNING), OPENED))
    ledger = where.open()
    with ledger.transaction() as tx:
        assert tx.reservations() == (opened(MORNING), WEEKLY)
        assert tx.reservation(ReservationId("r-2")) == WEEKLY
        tx.record_reservation(over(MORNING), NO_SHOW, actor=GOVERNOR, at=NOON)
        assert tx.reservations() == (WEEKLY,)
        assert tx.reservations_ended(10) == (over(MORNING),)
    ledger.close()
    found = where.verify()
    assert (found.events, found.difference) == (4, "")


@pytest.mark.parametrize(
    "steps",
    [
        ((MORNING, MADE), (MORNING, MADE)),
        ((MORNING, CHANGED),),
        ((MORNING, MADE), (over(MORNING), CANCELLED), (MORNING, OPENED)),
        ((MORNING, MADE), (MORNING, CANCELLED)),
    ],
)
def test_steps_out_of_order_are_refused_and_nothing_is_kept(
    where: Place, steps: tuple[tuple[Reservation, str], ...]
) -> None:
    with pytest.raises(LedgerError):
        put(where, *steps)
    found = where.verify()
    assert (found.events, found.difference) == (0, "")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE reservation SET team = 'speech'",
        "UPDATE reservation SET body = replace(body, '09:00', '08:00')",
        "DELETE FROM reservation",
        "UPDATE reservation SET seq = 1",
    ],
)
def test_a_table_that_differs_from_the_events_is_found(where: Place, change: str) -> None:
    put(where, (MORNING, MADE), (opened(MORNING), OPENED))
    with where.raw() as raw:
        raw.execute(change)
    assert "reservation r-1 differs" in where.verify().difference


def test_a_backup_has_them(where: Place) -> None:
    put(where, (WEEKLY, MADE), (opened(WEEKLY), OPENED), (WEEKLY, RELEASED))
    copied = backup(where.database, where.state / "copy.sqlite")
    assert (copied.events, copied.difference) == (3, "")
