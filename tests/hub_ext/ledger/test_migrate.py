"""The migrated schema is the schema that the code thinks it has."""

import re
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from hub_ext.errors import LedgerError
from hub_ext.ledger import sqlite
from hub_ext.ledger.migrate import migrate
from hub_ext.ledger.postgres import TRIGGERS
from hub_ext.ledger.schema import metadata
from hub_ext.ledger.store import FILE, Ledger
from tests.support.ledger_places import Place
from tests.support.postgres import PostgresServer

Shape = dict[tuple[str, str], tuple[str, ...]]

PARTS = r"\s*\n\s*|, (?![^()]*\))"
"""Between columns and constraints: a column that was added later stands on its neighbour's line."""


def shape(path: Path) -> Shape:
    """Every table, index and trigger with its parts; the order of constraints means nothing."""
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    found = {
        (kind, name): tuple(sorted({part.strip(" ,") for part in re.split(PARTS, sql)} - {""}))
        for kind, name, sql in rows
        if name != "alembic_version"
    }
    connection.close()
    return found


def test_migrations_make_the_schema_of_the_code(tmp_path: Path) -> None:
    migrated, declared = tmp_path / "migrated", tmp_path / "declared"
    engine = sqlite.writer(migrated)
    migrate(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine = sqlite.writer(declared)
    with engine.begin() as connection:
        metadata.create_all(connection)
        for trigger in sqlite.TRIGGERS.values():
            connection.exec_driver_sql(trigger)
    assert shape(migrated) == shape(declared)
    triggers = {name for kind, name in shape(migrated) if kind == "trigger"}
    assert triggers == set(sqlite.TRIGGERS)


def test_they_make_it_in_postgres_too(postgres: PostgresServer, tmp_path: Path) -> None:
    where = Place(tmp_path, postgres)
    engine = where.database.writer()
    migrate(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    query = (
        "SELECT tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid "
        "WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace"
    )
    with where.raw() as raw:
        assert {name for (name,) in raw.execute(query).fetchall()} == TRIGGERS
    where.drop()


def test_a_ledger_of_a_newer_version_is_refused(where: Place) -> None:
    where.open().close()
    with where.raw() as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    for act in (where.open, where.verify):
        with pytest.raises(LedgerError, match=r"newer version \(schema 9999\)"):
            act()


def test_a_database_of_another_program_is_refused(where: Place) -> None:
    if where.server is None:
        (where.state / FILE).touch()
    with where.raw() as raw:
        raw.execute("CREATE TABLE alembic_version (version_num TEXT)")
        raw.execute("INSERT INTO alembic_version VALUES ('833da8570507')")
        if where.server is not None:
            raw.execute("GRANT SELECT ON alembic_version TO governor")
    with pytest.raises(LedgerError, match="belongs to another program"):
        where.open()


def test_a_path_with_odd_characters_is_only_a_path(tmp_path: Path) -> None:
    odd = tmp_path / "a%b c?d#e"
    odd.mkdir()
    Ledger.open(odd).close()
    assert (odd / FILE).stat().st_size > 0


def test_a_migration_that_breaks_off_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = sqlite.writer(tmp_path / FILE)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE epoch (id INTEGER)")
    with pytest.raises(Exception, match="already exists"):
        migrate(engine)
    assert set(shape(tmp_path / FILE)) == {("table", "epoch")}
