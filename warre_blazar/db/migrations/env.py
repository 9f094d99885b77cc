"""Alembic's entry into our migrations."""

import sqlalchemy as sa
from alembic import context

from warre_blazar.db.migration import VERSION_TABLE

engine = sa.create_engine(context.config.attributes["url"], poolclass=sa.NullPool)
with engine.connect() as connection:
    # MariaDB commits with every CREATE. With one transaction for each revision, every completed
    # revision is recorded.
    context.configure(
        connection=connection, version_table=VERSION_TABLE, transaction_per_migration=True
    )
    with context.begin_transaction():
        context.run_migrations()
