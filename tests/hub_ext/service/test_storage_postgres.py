"""A PostgreSQL without room, that may only be read, is locked or cut off: what a file suffers too.

No grant without a record; work goes on; `/healthz` names it; it is well again by itself.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from psycopg import sql

from hub_ext.errors import LedgerError
from hub_ext.lease import LeaseState
from tests.support.governing import Site, site_in
from tests.support.ledger_places import Place
from tests.support.postgres import PostgresServer

Trouble = Callable[[Place], AbstractContextManager[None]]

FULL = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
END $$
"""
"""What a backend says whose disk has no room for another page."""


@contextmanager
def full(where: Place) -> Iterator[None]:
    with where.raw() as other:
        other.execute(FULL)
        for table in ("event", "tombstone"):
            other.execute(
                f"CREATE TRIGGER no_room BEFORE INSERT ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION no_room()"
            )
        yield
        other.execute("DROP FUNCTION no_room CASCADE")


@contextmanager
def read_only(where: Place) -> Iterator[None]:
    """Hosted servers do this to a database whose disk is nearly full."""
    assert where.server is not None
    with where.server.superuser("books") as root:
        root.execute("SET default_transaction_read_only = off")
        root.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        root.execute("SELECT pg_reload_conf()")
        try:
            _until(where, read_only=True)
            yield
        finally:
            root.execute("ALTER SYSTEM RESET default_transaction_read_only")
            root.execute("SELECT pg_reload_conf()")
            _until(where, read_only=False)


def _until(where: Place, *, read_only: bool) -> None:
    """Wait until the server has read its configuration again."""
    assert where.server is not None
    for _look in range(500):
        with where.server.superuser("books") as root:
            row = root.execute("SHOW default_transaction_read_only").fetchone()
        if row == ("on" if read_only else "off",):
            return
    raise AssertionError("the server does not read its configuration")


@contextmanager
def locked(where: Place) -> Iterator[None]:
    """Somebody else holds the lock of the writer for ever."""
    with where.raw() as other, other.transaction():
        other.execute("LOCK TABLE epoch IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def locked_within(where: Place) -> Iterator[None]:
    """Somebody else, such as an index being made, holds up the record itself."""
    with where.raw() as other, other.transaction():
        other.execute("LOCK TABLE event, tombstone IN SHARE MODE")
        yield


@contextmanager
def cut_off(where: Place) -> Iterator[None]:
    """The writer's connection is cut and no new one is let in; that of the lock lives."""
    assert where.server is not None
    role = sql.Identifier(where.server.user)
    where.server.run(sql.SQL("ALTER ROLE {} NOLOGIN").format(role))
    try:
        assert where.lose("writer") == 1
        yield
    finally:
        where.server.run(sql.SQL("ALTER ROLE {} LOGIN").format(role))


TROUBLES = pytest.mark.parametrize("trouble", [full, read_only, locked, locked_within, cut_off])


@pytest.fixture
def where(postgres: PostgresServer, tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path / "state", postgres)
    yield place
    place.drop()


@pytest.fixture
def site(where: Place) -> Iterator[Site]:
    with site_in(where.state, ledger_url=where.url or "") as site:
        yield site
    assert where.verify().difference == ""


def health(site: Site) -> tuple[str, set[str]]:
    found = site.governor.health(now=site.now)
    return found.status, {one.code for one in found.problems}


@TROUBLES
def test_no_grant_without_a_record_and_what_runs_goes_on(
    site: Site, where: Place, trouble: Trouble
) -> None:
    running = site.run("sam")
    with trouble(where):
        with pytest.raises(LedgerError) as refused:
            site.ask(site.asking("vera", "one"))
        assert where.server is not None
        assert where.server.password not in str(refused.value)
        assert health(site) == ("failing", {"ledger"})
        assert site.governor.problems(now=site.now)["ledger"] != ()
    assert health(site) == ("ok", set()), "nobody had to restart anything"
    assert site.lease(running).state is LeaseState.running
    assert len(site.held()) == 1
    grant = site.run("vera")
    assert grant.devices[0].id != running.devices[0].id


@TROUBLES
def test_it_is_named_although_nobody_asks_for_anything(
    site: Site, where: Place, trouble: Trouble
) -> None:
    assert health(site) == ("ok", set())
    with trouble(where):
        site.later(61)
        assert health(site)[0] == "failing"
    assert health(site)[0] == "ok"


@TROUBLES
def test_an_end_that_could_not_be_recorded_frees_nothing_until_it_is_told_again(
    site: Site, where: Place, trouble: Trouble
) -> None:
    grant = site.run("sam")
    process = site.lease(grant).process
    assert process is not None
    with trouble(where):
        site.machine.end(process)
        with pytest.raises(LedgerError):
            site.ended(grant)
    assert site.lease(grant).state is LeaseState.running
    site.ended(grant)
    assert site.lease(grant).state is LeaseState.closed


def test_a_connection_that_is_cut_once_is_made_again_and_the_grant_is_one(
    site: Site, where: Place
) -> None:
    running = site.run("sam")
    assert where.lose("writer") == 1
    grant = site.run("vera")
    assert site.held() == [running.devices[0].id, grant.devices[0].id]
    assert health(site) == ("ok", set())
