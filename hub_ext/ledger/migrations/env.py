"""Run by Alembic for `hub_ext.ledger.migrate`, inside the transaction that it has begun."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
