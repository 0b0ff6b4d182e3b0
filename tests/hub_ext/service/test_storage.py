"""Disks that are full, locked, read-only or broken: no grant without a record, and work goes on."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from hub_ext.errors import LedgerError
from hub_ext.lease import LeaseState
from hub_ext.ledger.samples import FILE as SAMPLES
from hub_ext.ledger.store import FILE
from hub_ext.ledger.verify import verify
from tests.support.governing import Site, site_in

Trouble = Callable[[Site], AbstractContextManager[None]]


def run_sql(site: Site, statement: str) -> object:
    driver = site.ledger._connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    row = driver.execute(statement).fetchone()
    return row[0] if row else None


@contextmanager
def full(site: Site) -> Iterator[None]:
    """The disk has no room for another page."""
    pages = run_sql(site, "PRAGMA page_count")
    run_sql(site, f"PRAGMA max_page_count = {pages}")
    yield
    run_sql(site, "PRAGMA max_page_count = 1000000")


@contextmanager
def read_only(site: Site) -> Iterator[None]:
    run_sql(site, "PRAGMA query_only = ON")
    yield
    run_sql(site, "PRAGMA query_only = OFF")


@contextmanager
def locked(site: Site) -> Iterator[None]:
    """Somebody else writes for ever."""
    with closing(sqlite3.connect(site.state / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.rollback()


TROUBLES = pytest.mark.parametrize("trouble", [full, read_only, locked])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with site_in(tmp_path / "state") as site:
        yield site
        assert verify(site.state / FILE).difference == ""


def until_full(site: Site) -> None:
    """Ask until there is no room: the last pages may take a few records."""
    for _ in range(200):
        try:
            site.ended(site.ask(site.asking("vera", "cpu", server="x")), refused=True)
        except LedgerError:
            return
    raise AssertionError("it takes everything")


def health(site: Site) -> tuple[str, set[str]]:
    found = site.governor.health(now=site.now)
    return found.status, {one.code for one in found.problems}


@TROUBLES
def test_no_grant_without_a_record_and_what_runs_goes_on(site: Site, trouble: Trouble) -> None:
    running = site.run("sam")
    with trouble(site):
        if trouble is full:
            until_full(site)
        with pytest.raises(LedgerError):
            site.ask(site.asking("vera", "one"))
        assert health(site) == ("failing", {"ledger"})
        assert site.governor.problems(now=site.now)["ledger"] != ()
    assert health(site) == ("ok", set()), "nobody had to restart anything"
    assert site.lease(running).state is LeaseState.running
    assert len(site.held()) == 1
    grant = site.run("vera")
    assert grant.devices[0].id != running.devices[0].id


@pytest.mark.parametrize("trouble", [read_only, locked])
def test_it_is_named_although_nobody_asks_for_anything(site: Site, trouble: Trouble) -> None:
    assert health(site) == ("ok", set())
    with trouble(site):
        site.later(61)
        assert health(site)[0] == "failing"
    assert health(site)[0] == "ok"


@TROUBLES
def test_an_end_that_could_not_be_recorded_frees_nothing_until_it_is_told_again(
    site: Site, trouble: Trouble
) -> None:
    grant = site.run("sam")
    process = site.lease(grant).process
    assert process is not None
    with trouble(site):
        if trouble is full:
            until_full(site)
        site.machine.end(process)
        with pytest.raises(LedgerError):
            site.ended(grant)
    assert site.lease(grant).state is LeaseState.running
    site.ended(grant)
    assert site.lease(grant).state is LeaseState.closed


def test_a_broken_file_of_readings_costs_readings_alone(site: Site) -> None:
    grant = site.run("sam")
    site.governor.close()
    (site.state / SAMPLES).write_bytes(b"nonsense" * 1000)
    site.governor = site._open()
    site.report_devices()
    assert health(site) == ("degraded", {"samples"})
    assert site.lease(grant).state is LeaseState.running
    site.run("vera")
    site.stop(grant)
    assert site.lease(grant).state is LeaseState.closed
