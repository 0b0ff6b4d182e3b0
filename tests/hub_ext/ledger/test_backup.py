"""A backup is made beside a governor, is a ledger itself, and comes back into either engine."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from hub_ext.cli import main
from hub_ext.errors import LedgerError
from hub_ext.lease import Event
from hub_ext.ledger.backup import backup
from hub_ext.ledger.copying import transfer
from hub_ext.ledger.places import place
from hub_ext.ledger.restore import restore
from hub_ext.ledger.store import FILE, Ledger
from hub_ext.ledger.verify import verify
from tests.hub_ext.ledger.test_store import holding
from tests.support.ledger_fixture import DATA, lived
from tests.support.ledger_parts import NOON
from tests.support.ledger_places import Place

NOTE = Event(kind="admin.note", at=NOON, body={})


@pytest.fixture
def full(where: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A ledger with something in every table, as the command finds it."""
    monkeypatch.setenv("GPU_COMMONS_STATE", str(where.state))
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", where.url or "")
    ledger = where.open()
    lived(ledger)
    ledger.close()
    return where


@pytest.fixture
def saved(full: Place) -> Path:
    """A backup of it."""
    file = full.state / "saved"
    backup(full.database, file)
    return file


def contents(state: Path, url: str | None) -> dict[str, object]:
    """All that stories read of a ledger; opens it, so that its epoch grows."""
    ledger = Ledger.open(state, url=url)
    with ledger.transaction() as tx:
        found = {
            "leases": tx.leases(),
            "intents": tx.intents(),
            "events": tx.events(),
            "charges": tx.postings(start=NOON, end=NOON.replace(year=2030)),
            "policies": tx.generations(),
            "buried": tx.buried("attempt-gone"),
        }
    ledger.close()
    return found


def append(where: Place) -> int:
    """Go on with a ledger: one event, by a governor."""
    ledger = where.open()
    with ledger.transaction() as tx:
        seq = tx.append(NOTE)
    ledger.close()
    return seq


def test_it_is_made_beside_a_governor_in_the_midst_of_a_transaction(
    full: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "saved"
    ledger = full.open()
    with ledger.transaction() as tx:
        tx.append(NOTE)
        assert main(["ledger", "backup", str(file)]) == 0
    said = capsys.readouterr().out
    assert "written to" in said
    assert "ok: 13 events, 2 open leases; chain " in said
    ledger.close()
    assert main(["ledger", "verify", str(file)]) == 0
    assert capsys.readouterr().out.startswith("ok: 13 events")
    assert full.verify().events == 14
    assert file.stat().st_mode & 0o077 == 0
    # One file, to be carried about, and nothing that is left over.
    assert [path.name for path in tmp_path.iterdir() if "saved" in path.name] == ["saved"]


def test_it_never_writes_over_a_file_and_leaves_nothing_half_done(
    full: Place, saved: Path, tmp_path: Path
) -> None:
    before = saved.read_bytes()
    with pytest.raises(LedgerError, match="there already"):
        backup(full.database, saved)
    assert saved.read_bytes() == before
    with pytest.raises(LedgerError, match="cannot be written"):
        backup(full.database, tmp_path / "absent" / "saved")
    with pytest.raises(LedgerError, match="no ledger at"):
        backup(place(tmp_path / "absent", None), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_books_that_differ_are_saved_as_they_are_and_the_command_says_so(
    full: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with full.raw() as thief:
        thief.execute("DELETE FROM device_hold")
    assert main(["ledger", "backup", str(tmp_path / "saved")]) == 1
    assert "held device GPU-of-L1" in capsys.readouterr().out
    assert verify(tmp_path / "saved").difference


def test_a_ledger_of_an_older_version_is_saved_as_it_is(tmp_path: Path) -> None:
    shutil.copy(DATA / "ledger-0001.sqlite", tmp_path / FILE)
    found = backup(place(tmp_path, None), tmp_path / "saved")
    assert (found.events, found.difference) == (12, "")
    with sqlite3.connect(tmp_path / "saved") as file:
        assert file.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
    file.close()
    assert not list(tmp_path.glob(".saved*"))


def test_it_comes_back_into_a_place_without_a_ledger(
    full: Place, saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = Place(full.state / "new", full.server)
    monkeypatch.setenv("GPU_COMMONS_LEDGER_URL", empty.url or "")
    assert main(["ledger", "restore", str(saved), "--state", str(empty.state)]) == 0
    assert "ok: 13 events, 2 open leases" in capsys.readouterr().out
    assert empty.verify() == full.verify()
    assert contents(empty.state, empty.url) == contents(full.state, full.url)
    # Numbers go on behind those that came back.
    ledger = empty.open()
    with ledger.transaction() as tx:
        assert tx.intend("start", tx.leases()[0].id, {}, at=NOON) == 3
    ledger.close()
    empty.drop()


def test_it_comes_back_into_the_other_engine(full: Place, saved: Path, tmp_path: Path) -> None:
    # From a file this is a way to a server, and from a server the way back.
    if full.server is not None:
        (tmp_path / "new").mkdir()
        restore(tmp_path / "new", None, saved, replace=False)
        assert verify(tmp_path / "new" / FILE) == full.verify()


def test_a_ledger_that_is_there_is_replaced_only_when_asked_and_kept_aside(
    full: Place, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert append(full) == 14
    before = full.verify()
    assert main(["ledger", "restore", str(saved)]) == 1
    assert "--replace" in capsys.readouterr().err
    assert full.verify() == before
    for number in (1, 2):
        assert main(["ledger", "restore", str(saved), "--replace"]) == 0
        assert f"replaced{'-_'[full.server is not None]}{number}" in capsys.readouterr().out
        assert full.verify().events == 13
    aside = verify(full.state / f"{FILE}.replaced-1") if full.server is None else _aside(full)
    assert aside == before
    # Every governor of before is overtaken: opened for this story, the one before, the backups.
    ledger = full.open()
    assert ledger.epoch == 5
    ledger.close()


def _aside(where: Place) -> object:
    assert where.server is not None
    return Place(where.state, where.server, f"{where.name}_replaced_1").verify()


def test_while_a_governor_lives_nothing_comes_back(
    full: Place, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    with holding(full, full.state) as child:
        assert main(["ledger", "restore", str(saved), "--replace"]) == 1
        assert f"process {child.pid}" in capsys.readouterr().err
        if full.server is not None:
            command = ["ledger", "restore", str(saved), "--replace", "--state", str(elsewhere)]
            assert main(command) == 1
            assert f"process {child.pid}" in capsys.readouterr().err
    assert full.verify().events == 13


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda file: file.execute("DELETE FROM device_hold"), "differs from its own events"),
        (
            lambda file: file.execute("UPDATE alembic_version SET version_num = '9'"),
            "newer version",
        ),
        (lambda file: file.execute("INSERT INTO moved VALUES (1, 'there', 0, '')"), "was moved"),
    ],
)
def test_what_is_no_good_does_not_come_back(
    full: Place, saved: Path, spoil: Callable[[sqlite3.Connection], object], words: str
) -> None:
    with sqlite3.connect(saved) as file:
        spoil(file)
    file.close()
    with pytest.raises(LedgerError, match=words):
        restore(full.state, full.url, saved, replace=True)
    assert full.verify().difference == ""
    assert not (full.state / f"{FILE}.restoring").exists()


def test_what_is_no_ledger_does_not_come_back(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"nonsense" * 1000)
    for words in ("not a database", "is no ledger", "cannot be read"):
        with pytest.raises(LedgerError, match=words):
            restore(tmp_path, None, other, replace=True)
        other.unlink(missing_ok=True)
        if words == "not a database":
            sqlite3.connect(other).execute("CREATE TABLE t (id INTEGER)").connection.close()
    assert not (tmp_path / FILE).exists()


def test_where_it_breaks_off_the_former_ledger_is_whole(
    full: Place, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(full)
    before = full.verify()

    def broken(*_args: object, **_more: object) -> None:
        raise OperationalError("", {}, OSError("the power went"))

    if full.server is None:
        monkeypatch.setattr(Path, "replace", broken)
    else:

        def all_but_the_commit(*args: object) -> None:
            transfer(*args)  # type: ignore[arg-type]
            broken()

        monkeypatch.setattr("hub_ext.ledger.restore.transfer", all_but_the_commit)
    with pytest.raises(LedgerError, match="the power went"):
        restore(full.state, full.url, saved, replace=True)
    monkeypatch.undo()
    assert full.verify() == before
    assert [path.name for path in full.state.iterdir() if "re" in path.suffix] == []
    assert append(full) == 15


def test_a_damaged_file_is_replaced_and_kept_with_all_that_is_beside_it(
    tmp_path: Path,
) -> None:
    ledger = Ledger.open(tmp_path)
    lived(ledger)
    backup(place(tmp_path, None), tmp_path / "saved")
    ledger.close()
    damaged = (tmp_path / FILE).read_bytes()[:5000] + b"x" * 90_000
    (tmp_path / FILE).write_bytes(damaged)
    (tmp_path / f"{FILE}-wal").write_bytes(b"left over")
    with pytest.raises(LedgerError, match="--replace"):
        restore(tmp_path, None, tmp_path / "saved", replace=False)
    done = restore(tmp_path, None, tmp_path / "saved", replace=True)
    assert Path(done.aside).read_bytes() == damaged
    assert Path(f"{done.aside}-wal").exists()
    assert not (tmp_path / f"{FILE}-wal").exists()
    assert verify(tmp_path / FILE).events == 13


def test_a_file_that_somebody_reads_is_not_pulled_away(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    lived(ledger)
    backup(place(tmp_path, None), tmp_path / "saved")
    ledger.close()
    reader = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM event").fetchone()
    with pytest.raises(LedgerError, match="being read"):
        restore(tmp_path, None, tmp_path / "saved", replace=True)
    reader.close()
    restore(tmp_path, None, tmp_path / "saved", replace=True)
