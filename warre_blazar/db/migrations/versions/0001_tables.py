"""Makes this package's tables as ``db.models`` describes them, and indexes of Blazar's tables.

Nothing has been released yet, so nobody has older tables. The first release replaces this migration
by one that names each column, and that never changes again.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

from warre_blazar.db import tables as models

revision = "0001"
down_revision = None


def upgrade() -> None:
    """
    :raises CommandError: Blazar's tables don't exist yet.
    """
    blazars = {table.name for table in models.metadata.sorted_tables if not models.is_ours(table)}
    missing = blazars - set(sa.inspect(op.get_bind()).get_table_names())
    if missing:
        raise CommandError(
            f"Blazar's tables {', '.join(sorted(missing))} are not there yet: run "
            "'blazar-db-manage --config-file ... upgrade head' first, then this command again."
        )
    tables = _tables()
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped,
    # which may have been between a table and its indexes.
    for table in tables:
        if models.is_ours(table):
            table.create(op.get_bind(), checkfirst=True)
        for index in _ours(table):
            index.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    found = sa.inspect(op.get_bind())
    for table in reversed(models.metadata.sorted_tables):
        if models.is_ours(table):
            table.drop(op.get_bind(), checkfirst=True)
            continue
        there = {
            str(index["name"]): index["column_names"] for index in found.get_indexes(table.name)
        }
        for index in _ours(table):
            if index.name in there:
                others = [columns for name, columns in there.items() if name != index.name]
                _drop_index(index, table.name, others)


def _ours(table: sa.Table) -> list[sa.Index]:
    """This package's indexes of a table."""
    return [index for index in table.indexes if str(index.name).startswith("ix_warre_")]


def _tables() -> list[sa.Table]:
    """Copies of all tables, those without which others can't be made first.

    A foreign key needs the type of the column to which it refers, and its character set. Blazar's
    columns have the character set that the database had when Blazar's tables were made.
    """
    found = sa.inspect(op.get_bind())
    copies = sa.MetaData()
    for table in models.metadata.sorted_tables:
        table.to_metadata(copies)
    for table in filter(models.is_ours, copies.sorted_tables):
        for key in table.foreign_keys:
            if not models.is_ours(key.column.table):
                columns = {c["name"]: c["type"] for c in found.get_columns(key.column.table.name)}
                key.parent.type = columns[key.column.name]
    return copies.sorted_tables


def _drop_index(index: sa.Index, table: str, others: Sequence[Sequence[str | None]]) -> None:
    """Drop an index of a table of Blazar's.

    When an index that begins with a foreign key was made, InnoDB dropped the index that it had made
    for the foreign key. But a foreign key needs an index. So InnoDB's index is made again before.

    :param others: the columns of the table's other indexes.
    """
    first = next(iter(index.columns)).name
    keys = sa.inspect(op.get_bind()).get_foreign_keys(table)
    is_key = any(key["constrained_columns"] == [first] for key in keys)
    if is_key and not any(columns[0] == first for columns in others):
        op.create_index(first, table, [first])
    op.drop_index(str(index.name), table)
