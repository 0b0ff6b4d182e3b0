"""A year of books goes from its file into a server: all of it, once, and never half of it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hub_ext.cli import main
from hub_ext.errors import LedgerError
from hub_ext.lease import GOVERNOR, Event, LeaseId
from hub_ext.ledger.backup import backup
from hub_ext.ledger.move import move
from hub_ext.ledger.places import place
from hub_ext.ledger.postgres import PostgresDatabase
from hub_ext.ledger.store import FILE, Ledger
from hub_ext.ledger.verify import verify
from tests.hub_ext.ledger.test_store import holding
from tests.support.ledger_fixture import DATA, lived
from tests.support.ledger_parts import NOON, a_lease, a_posting
from tests.support.ledger_places import Place
from tests.support.ledger_year import live_through
from tests.support.postgres import PostgresServer


@pytest.fixture
def where(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    """A server's empty place beside a state directory, as the command finds both."""
    opened = Place(tmp_path, postgres)
    monkeypatch.setenv("GPU_COMMONS_STATE", str(tmp_path))
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", opened.url or "")
    yield opened
    opened.drop()


@pytest.fixture
def full(where: Place) -> Place:
    ledger = Ledger.open(where.state)
    lived(ledger)
    ledger.close()
    return where


def target(where: Place) -> PostgresDatabase:
    found = where.database
    assert isinstance(found, PostgresDatabase)
    return found


def test_a_year_is_moved_and_the_books_go_on_there(
    where: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    file = where.state / FILE
    ledger = Ledger.open(where.state)
    live_through(ledger, 3000)
    with ledger.transaction() as tx:
        last = tx.intend("stop", LeaseId("now-1"), {}, at=NOON)
        tx.bury("attempt-gone", at=NOON)
        leases = tx.leases()
        charges = tx.postings(start=NOON.replace(year=2020), end=NOON)
    ledger.close()
    assert len(charges) == 600
    before = verify(file)
    assert (before.difference, before.events) == ("", 3020)

    assert main(["ledger", "move"]) == 0
    said = capsys.readouterr().out
    assert "moved to postgresql://governor@127.0.0.1:" in said
    assert f"ok: 3020 events, 20 open leases; chain {before.chain[:16]}" in said
    assert where.verify() == before

    after = where.open()
    assert after.epoch == 3
    with after.transaction() as tx:
        assert tx.leases() == leases
        assert tx.postings(start=NOON.replace(year=2020), end=NOON) == charges
        assert tx.buried("attempt-gone")
        assert [intent.id for intent in tx.intents()] == [last]
        assert tx.intend("stop", LeaseId("now-2"), {}, at=NOON) == last + 1
        assert tx.record(a_lease("new"), actor=GOVERNOR, at=NOON) == 3021
        tx.post([a_posting("now-1")], at=NOON)
    after.close()
    assert where.verify().difference == ""


def test_the_file_stays_to_be_read_and_no_governor_opens_it_again(
    full: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["ledger", "move"]) == 0
    capsys.readouterr()
    with pytest.raises(LedgerError, match=r"moved to postgresql://governor@127\.0\.0\.1") as caught:
        Ledger.open(full.state)
    assert "GPU_COMMONS_LEDGER_URL" in str(caught.value)
    assert main(["ledger", "move"]) == 1
    assert "was moved to" in capsys.readouterr().err
    monkeypatch.delenv("GPU_COMMONS_LEDGER_URL")
    assert main(["ledger", "verify"]) == 0
    assert "; moved to postgresql://" in capsys.readouterr().out
    assert main(["ledger", "backup", str(full.state / "saved")]) == 1
    assert "was moved to" in capsys.readouterr().err
    assert not (full.state / "saved").exists()


def test_back_into_a_file_it_goes_by_a_backup(full: Place) -> None:
    move(full.state, target(full), now=NOON)
    saved = full.state / "saved"
    backup(full.database, saved)
    assert main(["ledger", "restore", str(saved), "--into-file", "--replace"]) == 0
    assert verify(full.state / FILE) == full.verify()
    Ledger.open(full.state).close()
    # The server's is no longer the one.
    with pytest.raises(LedgerError, match="was not moved"):
        full.open()


def test_of_an_older_version_it_comes_up_to_date_on_the_way(where: Place) -> None:
    shutil.copy(DATA / "ledger-0001.sqlite", where.state / FILE)
    found = move(where.state, target(where), now=NOON)
    assert found.events == 12
    assert where.verify() == found


def test_what_broke_off_is_run_again(full: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def power_cut(*_args: object, **_more: object) -> None:
        raise OperationalError("", {}, OSError("the power went"))

    # Before the commit nothing is there.
    with monkeypatch.context() as patch:
        patch.setattr("hub_ext.ledger.copying.compare", power_cut)
        with pytest.raises(LedgerError, match="is still the ledger"):
            move(full.state, target(full), now=NOON)
    with pytest.raises(LedgerError, match="was not moved"):
        full.open()
    # After it all is there, and the file does not know.
    with monkeypatch.context() as patch:
        patch.setattr("hub_ext.ledger.move.mark_moved", power_cut)
        with pytest.raises(LedgerError, match="is still the ledger"):
            move(full.state, target(full), now=NOON)
    with pytest.raises(LedgerError, match="was not moved"):
        full.open()
    found = move(full.state, target(full), now=NOON)
    assert full.verify() == found
    full.open().close()


def test_it_does_not_go_where_another_ledger_is(full: Place, tmp_path: Path) -> None:
    elsewhere = full.fresh_state("elsewhere")
    other = Ledger.open(elsewhere, url=full.url)
    with other.transaction() as tx:
        tx.append(Event(kind="admin.note", at=NOON, body={}))
    # While a governor has that one, nobody else touches it.
    with pytest.raises(LedgerError, match="another governor"):
        move(full.state, target(full), now=NOON)
    other.close()
    with pytest.raises(LedgerError, match=r"not empty \(event\)"):
        move(full.state, target(full), now=NOON)
    Ledger.open(full.state).close()


def test_a_copy_that_differs_is_not_kept(full: Place) -> None:
    Ledger.open(full.fresh_state("other"), url=full.url).close()
    with full.raw() as raw:
        raw.execute(
            "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql "
            "AS $$ BEGIN RETURN NULL; END $$"
        )
        raw.execute(
            "CREATE TRIGGER forget BEFORE INSERT ON tombstone "
            "FOR EACH ROW EXECUTE FUNCTION forget()"
        )
    with pytest.raises(LedgerError, match="table tombstone"):
        move(full.state, target(full), now=NOON)
    with full.raw() as raw:
        assert raw.execute("SELECT count(*) FROM event").fetchone() == (0,)


def test_not_while_a_governor_lives_and_not_without_a_ledger(full: Place) -> None:
    with (
        holding(Place(full.state), full.state) as child,
        pytest.raises(LedgerError, match=f"process {child.pid}"),
    ):
        move(full.state, target(full), now=NOON)
    with pytest.raises(LedgerError, match="no ledger at"):
        move(full.state / "absent", target(full), now=NOON)


def test_a_password_does_not_belong_on_a_command_line(
    full: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert full.server is not None
    assert full.url is not None
    secret = full.server.password
    assert main(["ledger", "move", "--to", full.url]) == 1
    said = capsys.readouterr()
    assert "~/.pgpass" in said.err
    assert secret not in said.err + said.out
    assert main(["ledger", "move", "--to", "mysql://db/books"]) == 1
    # The same address without it takes it from the environment.
    bare = full.url.replace(f":{secret}", "")
    monkeypatch.delenv("GPU_COMMONS_LEDGER_URL")
    assert main(["ledger", "move", "--to", bare]) == 1
    assert "password" in capsys.readouterr().err
    assert main(["ledger", "move"]) == 1
    assert "--to" in capsys.readouterr().err
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", full.url)
    assert main(["ledger", "move", "--to", bare]) == 0
    said = capsys.readouterr()
    assert secret not in said.err + said.out
    assert place(full.state, full.url).words in said.out
