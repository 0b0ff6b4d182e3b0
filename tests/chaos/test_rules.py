"""The rules see what they are for: each planted fault is found, and an orderly record has none."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from hub_ext.lease import Cause, LeaseState, OpenLease, PoolName, ServerKey, UserName
from hub_ext.ledger.fold import body_of
from tests.chaos import clocks, record
from tests.chaos.layout import POOL
from tests.chaos.record import Row
from tests.support.ledger_parts import NOON, a_device, a_lease

BEGAN = NOON.timestamp()


def lease(name: str, state: LeaseState = LeaseState.running, **changes: Any) -> OpenLease:
    values = {"pool": PoolName(POOL), "units": record.SLICE_UNITS, "started_at": NOON}
    return a_lease(name, state, **{**values, **changes})


def row(value: OpenLease) -> Row:
    return f"lease.{value.state}", value.id, body_of(value)


def broken(*leases: OpenLease) -> set[str]:
    return {rule for rule, _ in record.replay([row(one) for one in leases])}


def test_an_orderly_record_breaks_nothing() -> None:
    first = lease("L1")
    again = lease("L2", devices=first.devices)
    assert broken(first, lease("L1", LeaseState.closed), again) == set()


def test_one_device_on_two_leases_is_found() -> None:
    shared = (a_device("GPU-1"),)
    assert broken(lease("L1", devices=shared), lease("L2", devices=shared)) == {
        record.DOUBLE_DEVICE
    }


def test_two_open_leases_of_one_server_are_found() -> None:
    key = ServerKey(user=UserName("ada"))
    assert broken(lease("L1", key=key), lease("L2", key=key)) == {record.DOUBLE_LEASE}


def test_more_than_the_guarantee_or_the_limit_is_found() -> None:
    assert broken(*(lease(f"L{number}") for number in range(3))) == set()
    assert broken(*(lease(f"L{number}") for number in range(4))) == {record.OVER_LIMIT}
    borrowed = [lease(f"B{number}", standing="borrowed") for number in range(6)]
    assert broken(*borrowed[:5]) == set()
    assert broken(*borrowed) == {record.OVER_LIMIT}


def test_a_state_that_may_not_follow_is_found() -> None:
    closed = lease("L1", LeaseState.closed)
    assert broken(closed) == {record.WRONG_STEP}


def compared(
    *,
    charged_s: float | None,
    away: tuple[tuple[float, float], ...] = (),
    lived_s: float = 60,
    **changes: Any,
) -> set[str]:
    """Compare a server that lived for a minute with a charge of so many seconds."""
    value = lease("L1", LeaseState.closed, **changes)
    charged = {} if charged_s is None else {"L1": (BEGAN, BEGAN + charged_s)}
    books = clocks.Books({"L1": value}, charged, lambda _at: 0.0, away)
    known = [clocks.Run("L1", 7, "MIG-1", BEGAN, BEGAN + lived_s)]
    return {rule for rule, _ in books.compare(known)}


def test_a_charge_is_right_within_a_heartbeat_and_never_longer_than_the_server_lived() -> None:
    assert compared(charged_s=61) == set()
    assert compared(charged_s=80) == {clocks.FAVOUR}
    assert compared(charged_s=70) == set()
    assert compared(charged_s=70, cause=Cause.failed) == {clocks.FAVOUR}
    assert compared(charged_s=30) == {clocks.SHORT}
    assert compared(charged_s=30, away=((BEGAN + 20, BEGAN + 50),)) == set()
    assert compared(charged_s=None) == {clocks.FREE}
    assert compared(charged_s=None, started_at=None, lived_s=10) == set()
    assert compared(charged_s=None, started_at=None) == {clocks.FREE}


def test_a_step_of_the_governors_clock_is_told_from_a_wrong_charge() -> None:
    value = lease("L1", LeaseState.closed, closed_at=NOON + timedelta(seconds=80))
    books = clocks.Books({"L1": value}, {"L1": (BEGAN, BEGAN + 80)}, lambda _at: 20.0, ())
    assert books.compare([clocks.Run("L1", 7, "MIG-1", BEGAN, BEGAN + 60)]) == []


def test_a_server_that_no_lease_names_is_found() -> None:
    books = clocks.Books({}, {}, lambda _at: 0.0, ())
    known = [clocks.Run("", 7, "MIG-1", BEGAN, BEGAN + 60)]
    assert [rule for rule, _ in books.compare(known)] == [clocks.UNKNOWN]


def test_clocks_are_read_even_where_the_last_line_was_cut_off(tmp_path: Path) -> None:
    told = {"lease": "L1", "attempt": "a", "pid": 7, "device": "MIG-1"}
    lines = [
        json.dumps({"what": what, "at": at, **told}) for what, at in (("start", 1), ("beat", 2))
    ]
    (tmp_path / "7.jsonl").write_text("\n".join([*lines, '{"what": "be']))
    assert clocks.runs(tmp_path, {}) == [clocks.Run("L1", 7, "MIG-1", 1, 2)]
    assert clocks.runs(tmp_path, {7: 9.5})[0].end == 9.5
