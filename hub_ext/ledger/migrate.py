"""Brings a ledger's schema up to date, and refuses one that a newer version wrote."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect

from ..errors import LedgerError
from ..i18n import _
from .schema import event

SCRIPTS = Path(__file__).parent / "migrations"
"""The migrations, packaged with the code that needs them."""

VERSION_TABLE = "alembic_version"
"""Where Alembic writes down the schema's revision."""


def migrate(engine: Engine) -> None:
    """Run every migration that the database does not have yet, all of them or none.

    Raises
    ------
    LedgerError
        When a newer version of the product has written it.
    """
    with engine.begin() as connection:
        upgrade(connection)


def upgrade(connection: Connection, to: str = "head") -> None:
    """Run the migrations that a database lacks, inside the transaction that its caller began.

    Raises
    ------
    LedgerError
        When a newer version of the product, or another program, has written it.
    """
    if not is_current(connection):
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, to)


def is_current(connection: Connection) -> bool:
    """Whether a database has every migration.

    Raises
    ------
    LedgerError
        When a newer version of the product has written it.
    """
    head: str | None = ScriptDirectory.from_config(_config()).get_current_head()
    return revision(connection) == head


def revision(connection: Connection) -> str | None:
    """Name of the newest migration that a database has; None where it has none.

    Raises
    ------
    LedgerError
        When this version of the product does not know it, or another program wrote it.
    """
    found: str | None = MigrationContext.configure(connection).get_current_revision()
    if found is not None and not list(SCRIPTS.glob(f"versions/{found}_*.py")):
        if not inspect(connection).has_table(event.name):
            # JupyterHub, for one, also keeps its version where Alembic does.
            raise LedgerError(
                _(
                    "the database belongs to another program (schema {revision}); "
                    "give the ledger a database of its own"
                ).format(revision=found)
            )
        raise LedgerError(
            _(
                "the ledger was written by a newer version (schema {revision}); it is never "
                "taken back to an older one. Install that version again"
            ).format(revision=found)
        )
    return found


def _config() -> Config:
    config = Config()
    # Alembic reads its options through a parser that gives `%` a meaning.
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return config
