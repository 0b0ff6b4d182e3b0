"""One writer: locked, fenced, whole transactions, append-only tables."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from hub_ext.errors import FencedError, LedgerError
from hub_ext.lease import GOVERNOR, Actor, Event, LeaseId, LeaseState
from hub_ext.ledger.store import FILE, Ledger
from tests.support.ledger_parts import NOON, SECOND, a_lease, a_posting
from tests.support.ledger_places import ENGINES, Place, open_after_a_death
from tests.support.postgres import PostgresServer

OTHER_WAYS = {
    "sqlite": [("INSERT OR REPLACE", "INTO {table} SELECT * FROM {table} LIMIT 1")],
    "postgres": [
        ("TRUNCATE", "{table} CASCADE"),
        ("INSERT", "INTO event SELECT * FROM event LIMIT 1 ON CONFLICT (seq) DO UPDATE SET at = 1"),
        (
            "MERGE",
            "INTO {table} t USING {table} s ON t.seq = s.seq WHEN MATCHED THEN UPDATE SET seq = 9",
        ),
    ],
}
"""Ways around UPDATE and DELETE that an engine has."""

HOLD = """
import os, sys, time
from pathlib import Path
from hub_ext.ledger.store import Ledger
ledger = Ledger.open(Path(sys.argv[1]), url=os.environ.get("GPU_COMMONS_LEDGER_URL"))
print("open", flush=True)
time.sleep(60)
"""


@contextmanager
def holding(where: Place, state: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that has the ledger open, until it is killed."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": ".", "GPU_COMMONS_LEDGER_URL": where.url or ""},
    )
    try:
        assert child.stdout
        assert child.stdout.readline() == b"open\n"
        yield child
    finally:
        child.kill()
        child.communicate()


def test_what_a_transaction_wrote_is_there_after_reopening(where: Place) -> None:
    ledger = where.open()
    with ledger.transaction() as tx:
        seq = tx.record(a_lease(), actor=GOVERNOR, at=NOON)
        tx.post([a_posting()], at=NOON)
        tx.bury("attempt-gone", at=NOON)
    ledger.close()
    again = where.open()
    with again.transaction() as tx:
        assert tx.leases() == (a_lease(),)
        assert tx.seq(LeaseId("L1")) == seq + 1 == tx.head() == 2
        assert tx.buried("attempt-gone")
        assert not tx.buried("attempt-new")
    assert again.epoch == 2
    again.close()


def test_an_error_leaves_nothing_of_its_transaction(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.record(a_lease(), actor=GOVERNOR, at=NOON)

    def two_steps_then_fail() -> None:
        with ledger.transaction() as tx:
            tx.record(a_lease(state=LeaseState.starting), actor=GOVERNOR, at=NOON)
            assert tx.leases()[0].state is LeaseState.starting
            tx.intend("start", LeaseId("L1"), {}, at=NOON)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        two_steps_then_fail()
    with ledger.transaction() as tx:
        assert tx.head() == 1
        assert tx.leases() == (a_lease(),)
        assert tx.intents() == ()
        # The number that was rolled back is given to other content, and no cache hides that.
        other = a_lease(state=LeaseState.starting, priority=7)
        assert tx.record(other, actor=GOVERNOR, at=NOON) == 2
    with ledger.transaction() as tx:
        assert tx.leases() == (other,)


def test_a_caught_failure_still_takes_its_transaction_back(ledger: Ledger) -> None:
    held = a_lease("L2", LeaseState.running, devices=a_lease("L1").devices)
    with ledger.transaction() as tx:
        tx.record(a_lease("L1", LeaseState.running), actor=GOVERNOR, at=NOON)

    def catch_and_go_on() -> None:
        with ledger.transaction() as tx:
            with pytest.raises(LedgerError, match="held by another lease"):
                tx.record(held, actor=GOVERNOR, at=NOON)
            tx.append(Event(kind="admin.note", at=NOON, body={}))

    with pytest.raises(LedgerError, match="taken back"):
        catch_and_go_on()
    with ledger.transaction() as tx:
        assert tx.head() == 1


def test_a_second_opener_is_refused_and_told_who_holds_it(where: Place) -> None:
    with (
        holding(where, where.state) as child,
        pytest.raises(LedgerError, match=f"process {child.pid}"),
    ):
        where.open()
    # The kernel gave the lock back although nobody closed it.
    ledger = open_after_a_death(where.state, where.url)
    assert ledger.epoch == 2
    ledger.close()


def test_on_a_server_it_is_refused_from_another_machine_too(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    where = Place(tmp_path, postgres)
    with (
        holding(where, where.fresh_state("elsewhere")) as child,
        pytest.raises(LedgerError, match=rf"another governor \(.*process {child.pid} on \w+"),
    ):
        where.open()
    ledger = open_after_a_death(where.state, where.url)
    assert ledger.epoch == 2
    ledger.close()
    where.drop()


def test_a_writer_that_was_overtaken_cannot_append(ledger: Ledger, where: Place) -> None:
    with where.raw() as other:
        other.execute("UPDATE epoch SET number = number + 1, pid = 4242")
    with (
        pytest.raises(FencedError, match="process 4242"),
        ledger.transaction() as tx,
    ):
        tx.append(Event(kind="admin.note", at=NOON, body={}))
    with pytest.raises(FencedError), ledger.transaction():
        pass


def test_the_record_is_only_added_to(ledger: Ledger, where: Place) -> None:
    with ledger.transaction() as tx:
        tx.record(a_lease(), actor=GOVERNOR, at=NOON)
        tx.post([a_posting()], at=NOON)
        tx.add_generation(text="a", sha256="b", summary="c", at=NOON, actor=GOVERNOR)
        events = tx.events()
    refused = [
        f"{verb} {rest}".format(table=table)
        for table, column in (("event", "at"), ("posting", "units"), ("policy_generation", "at"))
        for verb, rest in (
            ("UPDATE", f"{table} SET {column} = 1"),
            ("DELETE", f"FROM {table}"),
            *OTHER_WAYS[ENGINES[where.server is not None]],
        )
    ]
    for statement in refused:
        with (
            pytest.raises(LedgerError, match=r"only added to|no gaps"),
            ledger.transaction() as tx,
        ):
            tx._run(text(statement))
    with ledger.transaction() as tx:
        assert tx.events() == events


def test_it_serves_another_thread_than_the_one_that_opened_it(ledger: Ledger) -> None:
    heads = []

    def write() -> None:
        with ledger.transaction() as tx:
            tx.append(Event(kind="admin.note", at=NOON, body={}))
            heads.append(tx.head())

    worker = threading.Thread(target=write)
    worker.start()
    worker.join(timeout=10)
    assert heads == [1]


def test_an_ended_transaction_cannot_be_used(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        pass
    with pytest.raises(LedgerError, match="has ended"):
        tx.leases()
    with ledger.transaction() as tx:
        assert tx.leases() == ()


def test_a_locked_database_refuses_in_words_and_recovers(
    tmp_path: Path,
) -> None:
    ledger = Ledger.open(tmp_path)
    ledger._connection.exec_driver_sql("PRAGMA busy_timeout = 50")
    ledger._connection.rollback()
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(LedgerError, match="locked"), ledger.transaction():
            pass
    finally:
        other.execute("ROLLBACK")
        other.close()
    with ledger.transaction() as tx:
        assert tx.append(Event(kind="admin.note", at=NOON, body={})) == 1
    ledger.close()


def test_a_full_disk_refuses_in_words_and_recovers(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    pages = ledger._connection.exec_driver_sql("PRAGMA page_count").scalar()
    ledger._connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    ledger._connection.rollback()

    def too_much() -> None:
        with ledger.transaction() as tx:
            for number in range(200):
                tx.record(a_lease(f"L{number}"), actor=GOVERNOR, at=NOON)

    with pytest.raises(LedgerError, match="full"):
        too_much()
    ledger._connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    ledger._connection.rollback()
    too_much()
    with ledger.transaction() as tx:
        assert len(tx.leases()) == 200
    ledger.close()


def test_a_file_that_is_no_ledger_is_refused_and_the_lock_is_free(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"nonsense" * 1000)
    for _attempt in range(2):
        with pytest.raises(LedgerError, match="cannot be used"):
            Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.open(tmp_path / "absent")


def test_the_ledger_belongs_to_its_owner_alone(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    with ledger.transaction() as tx:
        tx.append(Event(kind="admin.note", at=NOON, body={}))
    for name in (FILE, f"{FILE}-wal", "governor.lock"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    ledger.close()


def test_events_are_read_by_lease_kind_and_number(ledger: Ledger) -> None:
    who = Actor(kind="user", name="admin", admin=True)
    with ledger.transaction() as tx:
        for number in range(5):
            kind = "admin.note" if number % 2 else "admin.drain"
            lease_id = LeaseId("L1") if number < 3 else None
            event = Event(
                kind=kind,
                at=NOON + number * SECOND,
                lease_id=lease_id,
                actor=who,
                body={"number": number},
            )
            tx.append(event)
        assert [seq for seq, _event in tx.events(lease_id=LeaseId("L1"))] == [1, 2, 3]
        assert [seq for seq, _event in tx.events(kinds=["admin.note"])] == [2, 4]
        assert [seq for seq, _event in tx.events(after=3)] == [4, 5]
        assert [seq for seq, _event in tx.events(newest=True, limit=2)] == [5, 4]
        assert tx.events(after=4)[0][1] == event
    with pytest.raises(LedgerError, match="no JSON"), ledger.transaction() as tx:
        tx.append(Event(kind="admin.note", at=NOON, body={"what": object()}))
