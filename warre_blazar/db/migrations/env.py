"""Runs the migrations. Alembic executes this file for each of its commands."""

import sqlalchemy as sa
from alembic import context

from warre_blazar.db.migration import VERSION_TABLE

engine = sa.create_engine(context.config.attributes["url"], poolclass=sa.NullPool)
with engine.connect() as connection:
    # MariaDB commits at every CREATE, so a failed upgrade can't be rolled back as a whole. Each
    # revision has a transaction of its own, so that every completed revision stays recorded.
    context.configure(
        connection=connection, version_table=VERSION_TABLE, transaction_per_migration=True
    )
    with context.begin_transaction():
        context.run_migrations()
