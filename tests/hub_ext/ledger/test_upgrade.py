"""A ledger of every schema that ever landed is brought up to date, with all that is in it."""

import shutil
from pathlib import Path

import pytest
from sqlalchemy import MetaData, insert, select

from hub_ext.lease import LeaseId, LeaseState
from hub_ext.ledger.migrate import SCRIPTS, VERSION_TABLE, upgrade
from hub_ext.ledger.sqlite import SqliteFile
from hub_ext.ledger.store import FILE
from tests.support.ledger_fixture import DATA, write
from tests.support.ledger_parts import NOON, SECOND
from tests.support.ledger_places import Place

KNOWN = sorted(DATA.glob("ledger-*.sqlite"))


def test_a_fixture_of_every_schema_is_kept(tmp_path: Path) -> None:
    landed = {script.name[:4] for script in SCRIPTS.glob("versions/0*.py")}
    assert {path.stem.removeprefix("ledger-") for path in KNOWN} == landed
    # The script that makes the next one still works.
    assert write(tmp_path).stem.removeprefix("ledger-") == max(landed)


@pytest.fixture(params=KNOWN, ids=lambda path: path.stem)
def old(request: pytest.FixtureRequest, where: Place) -> Place:
    """A ledger as a former version left it."""
    fixture: Path = request.param
    if where.server is None:
        shutil.copy(fixture, where.state / FILE)
        return where
    database = where.database
    with SqliteFile(fixture).reader().begin() as source, database.writer().begin() as target:
        upgrade(target, to=fixture.stem.removeprefix("ledger-"))
        former = MetaData()
        former.reflect(target)
        for table in former.sorted_tables:
            rows = source.execute(select(table).order_by(*table.primary_key)).mappings().all()
            if rows and table.name != VERSION_TABLE:
                target.execute(insert(table), [dict(row) for row in rows])
        database.filled(target)
    return where


def test_every_schema_comes_up_to_date(old: Place) -> None:
    ledger = old.open()
    with ledger.transaction() as tx:
        assert [(lease.id, lease.state) for lease in tx.leases()] == [
            ("L1", LeaseState.running),
            ("L3", LeaseState.requested),
        ]
        assert tx.leases()[0].last_seen_at == NOON + 60 * SECOND
        assert [intent.lease_id for intent in tx.intents()] == ["L1"]
        assert tx.buried("attempt-gone")
        assert tx.charged_until(LeaseId("L2")) == NOON + 7200 * SECOND
        assert tx.generation() is not None
        assert tx.events(newest=True, limit=1)[0][1].body == {"words": "grüße \u0000"}
        closed = tx.lease(LeaseId("L2"))
        assert closed is not None
        assert tx.last_ended(closed.key) == closed
        assert tx.intend("start", LeaseId("L3"), {}, at=NOON) == 3
        head = tx.head()
    assert ledger.epoch == 2
    ledger.close()
    found = old.verify()
    assert (found.events, found.difference) == (head, "")
