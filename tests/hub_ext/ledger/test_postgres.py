"""What only a server can do to a governor: cut it off, turn it away, keep it waiting."""

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import event as signals
from sqlalchemy import text

from hub_ext.cli import main
from hub_ext.errors import FencedError, LedgerError
from hub_ext.lease import GOVERNOR, Event
from hub_ext.ledger.postgres import PostgresDatabase
from hub_ext.ledger.sqlite import FlockSuffices
from hub_ext.ledger.store import FILE, TRIES, Ledger
from tests.support.ledger_parts import NOON, a_lease
from tests.support.ledger_places import Place
from tests.support.postgres import PostgresServer, programs

NOTE = Event(kind="admin.note", at=NOON, body={})


@pytest.fixture
def where(postgres: PostgresServer, tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path, postgres)
    yield place
    place.drop()


def heads(ledger: Ledger) -> int:
    with ledger.transaction() as tx:
        return tx.head()


def test_a_governor_that_lost_its_lock_ends_and_its_successor_goes_on(
    ledger: Ledger, where: Place, tmp_path: Path
) -> None:
    with ledger.transaction() as tx:
        tx.record(a_lease(), actor=GOVERNOR, at=NOON)
    assert where.lose("governor") == 1
    other = Ledger.open(where.fresh_state("other"), url=where.url)
    for _time in range(2):
        with (
            pytest.raises(FencedError, match="lock of postgresql://governor@"),
            ledger.transaction(),
        ):
            pass
    with other.transaction() as tx:
        assert tx.leases() == (a_lease(),)
    other.close()


def test_a_governor_cut_off_within_a_transaction_writes_nothing_and_ends(
    ledger: Ledger, where: Place
) -> None:
    def cut_off() -> None:
        with ledger.transaction() as tx:
            tx.append(NOTE)
            assert where.lose("") == 2
            tx.append(NOTE)

    with pytest.raises(LedgerError, match="Nothing of it happened"):
        cut_off()
    with pytest.raises(FencedError), ledger.transaction():
        pass
    ledger.close()
    again = where.open()
    assert heads(again) == 0
    again.close()


def test_a_lost_connection_is_made_again_while_the_lock_holds(ledger: Ledger, where: Place) -> None:
    with ledger.transaction() as tx:
        tx.append(NOTE)
    # Between two transactions nobody notices.
    assert where.lose("writer") == 1
    with ledger.transaction() as tx:
        assert tx.append(NOTE) == 2

    def lose_half_way() -> None:
        with ledger.transaction() as tx:
            tx.append(NOTE)
            where.lose("writer")
            tx.append(NOTE)

    with pytest.raises(LedgerError, match="Nothing of it happened"):
        lose_half_way()
    with ledger.transaction() as tx:
        assert tx.append(NOTE) == 3


@pytest.mark.parametrize("came_through", [True, False])
def test_after_a_commit_without_an_answer_the_ledger_itself_is_asked(
    where: Place, monkeypatch: pytest.MonkeyPatch, *, came_through: bool
) -> None:
    ledger = where.open()
    commit = ledger._engine.dialect.do_commit

    def lost(connection: Any) -> None:
        if came_through:
            commit(connection)
        connection.driver_connection.pgconn.finish()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(ledger._engine.dialect, "do_commit", lost)
    with pytest.raises(FencedError, match="nobody knows"), ledger.transaction() as tx:
        tx.append(NOTE)
    monkeypatch.undo()
    # It cannot say what holds, so it says nothing more.
    with pytest.raises(FencedError, match="nobody knows"), ledger.transaction():
        pass
    ledger.close()
    again = where.open()
    assert heads(again) == int(came_through)
    again.close()


@contextmanager
def turned_away(ledger: Ledger, times: int) -> Iterator[list[str]]:
    """Let the server refuse the lock so many times, as it refuses what it cannot put in order."""
    asked: list[str] = []

    def refuse(connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("LOCK"):
            asked.append(statement)
            if len(asked) <= times:
                connection.exec_driver_sql("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")

    signals.listen(ledger._engine, "before_cursor_execute", refuse)
    yield asked
    signals.remove(ledger._engine, "before_cursor_execute", refuse)


def test_what_is_turned_away_before_it_begins_is_begun_again_by_itself(ledger: Ledger) -> None:
    with turned_away(ledger, TRIES - 1) as asked, ledger.transaction() as tx:
        tx.append(NOTE)
    assert len(asked) == TRIES
    with (
        turned_away(ledger, TRIES) as asked,
        pytest.raises(LedgerError, match="Nothing of it happened"),
        ledger.transaction() as tx,
    ):
        tx.append(NOTE)
    assert len(asked) == TRIES
    assert heads(ledger) == 1


def test_what_is_turned_away_later_is_never_repeated_behind_the_callers_back(
    ledger: Ledger,
) -> None:
    bodies = []

    def body() -> None:
        with ledger.transaction() as tx:
            bodies.append(tx.append(NOTE))
            tx._run(text("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"))

    with pytest.raises(LedgerError, match="Nothing of it happened"):
        body()
    assert bodies == [1]
    assert heads(ledger) == 0


def test_a_write_waits_a_second_for_another_ones_lock_and_then_refuses(
    ledger: Ledger, where: Place
) -> None:
    with where.raw() as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE epoch IN EXCLUSIVE MODE")
        with pytest.raises(LedgerError, match="lock timeout"), ledger.transaction():
            pass
        # Who only reads is not kept waiting.
        assert where.verify().difference == ""
        other.execute("ROLLBACK")
    with ledger.transaction() as tx:
        assert tx.append(NOTE) == 1


def test_who_waited_for_the_lock_sees_what_the_other_one_wrote(
    ledger: Ledger, where: Place
) -> None:
    # A second writer as no fence would let it be: it must still decide on what is there.
    engine = where.database.writer()
    other = Ledger(where.database, engine, FlockSuffices(), hub="hub")
    other.epoch = ledger.epoch
    seen = []

    def decide() -> None:
        with other.transaction() as tx:
            seen.append(tx.head())
            tx.append(NOTE)

    waiting = threading.Thread(target=decide)
    with ledger.transaction() as tx:
        waiting.start()
        time.sleep(0.2)
        tx.append(NOTE)
    waiting.join(timeout=10)
    other.close()
    other._connection.close()
    assert seen == [1]
    assert heads(ledger) == 2


def test_two_schemas_of_a_database_are_two_ledgers(where: Place) -> None:
    assert where.server is not None
    other = where.server.schema()
    first = where.open()
    second = Ledger.open(where.fresh_state("second"), url=where.server.url(schema=other))
    with first.transaction() as tx:
        tx.append(NOTE)
    assert (heads(first), heads(second)) == (1, 0)
    first.close()
    second.close()
    where.server.drop(other)


def test_what_cannot_hold_a_ledger_is_refused_in_words(
    postgres: PostgresServer, where: Place
) -> None:
    def refusal(url: str) -> str:
        with pytest.raises(LedgerError) as caught:
            Ledger.open(where.state, url=url)
        return str(caught.value)

    postgres.run(
        sql.SQL(
            "CREATE DATABASE latin TEMPLATE template0 ENCODING LATIN1 LOCALE 'C' OWNER governor"
        )
    )
    assert "encoding is LATIN1" in refusal(postgres.url(database="latin"))
    assert "schemas" in refusal(postgres.url(schema="absent"))
    wrong = postgres.url().replace(postgres.password, "wrong")
    assert "password authentication failed" in refusal(wrong)
    assert "does not exist" in refusal(postgres.url(database="absent"))
    assert "let this role in" not in refusal("mysql://governor@db/books")
    for nonsense in ("mysql://g:hush@db/books", "hush", "postgresql://g:hush@db:port/books"):
        assert "cannot be read; write it as" in refusal(nonsense)
        assert "hush" not in refusal(nonsense)
    silent = postgres.url().replace(str(postgres.port), "1")
    assert "See that the server runs" in refusal(silent)


def test_an_unmoved_file_is_not_left_behind(where: Place) -> None:
    file = Ledger.open(where.state)
    file.close()
    # One without any event is no loss.
    where.open().close()
    file = Ledger.open(where.state)
    with file.transaction() as tx:
        tx.append(NOTE)
    file.close()
    with pytest.raises(LedgerError, match="was not moved"):
        where.open()
    (where.state / FILE).write_bytes(b"nonsense" * 1000)
    with pytest.raises(LedgerError, match="was not moved"):
        where.open()


def test_a_password_is_nowhere_but_in_the_address(
    where: Place,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert where.server is not None
    secret = where.server.password
    caplog.set_level(logging.DEBUG)
    database = where.database
    assert isinstance(database, PostgresDatabase)
    ledger = where.open()
    seen = [repr(database), database.words, repr(ledger), repr(ledger._engine)]
    seen.append(subprocess.check_output(["ps", "-eww", "-o", "args"], text=True))
    with where.raw() as raw:
        seen += map(str, raw.execute("SELECT * FROM pg_stat_activity").fetchall())
    where.lose("governor")
    for act in (where.open, ledger.transaction().__enter__):
        with pytest.raises(LedgerError) as caught:
            act()
        seen += map(repr, _causes(caught.value))
    ledger.close()
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", where.url or "")
    assert main(["ledger", "verify", "--state", str(where.state)]) == 0
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", where.server.url(database="absent"))
    assert main(["ledger", "verify", "--state", str(where.state)]) == 1
    seen += [*capsys.readouterr(), caplog.text]
    assert len("".join(seen)) > 1000
    assert [words for words in seen if secret in words] == []


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_without_the_driver_the_words_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"gpu-commons\[postgres\]"):
        Ledger.open(tmp_path, url="postgresql+psycopg://governor@127.0.0.1:1/books")


def test_where_postgres_is_missing_the_stories_are_skipped_but_not_in_ci(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert programs() is not None
    monkeypatch.setattr("tests.support.postgres.programs", lambda: None)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt install"), PostgresServer.running():
        pass
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt install"), PostgresServer.running():
        pass
