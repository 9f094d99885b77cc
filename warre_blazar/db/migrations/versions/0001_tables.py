"""Makes the tables of release 1.0, and its indexes of Blazar's tables. This never changes again.

The statements are in ``0001_tables.sql`` and not made of ``db.models``, which describe the tables
of the present. Blazar's own migrations run on MariaDB only, and so do these.
"""

import pathlib
import re
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "0001"
down_revision = None

_STATEMENTS = pathlib.Path(__file__).with_suffix(".sql").read_text().split(";\n")[:-1]
_MADE = re.compile(r"CREATE (?P<kind>TABLE|INDEX) (?P<name>\w+)(?: ON (?P<table>\w+))?")


def upgrade() -> None:
    """
    :raises CommandError: Blazar's tables don't exist yet.
    """
    db = op.get_bind()
    types = _types_of_ids(db)
    # MariaDB can't roll back a CREATE. So an upgrade that was interrupted goes on where it stopped,
    # which may have been between a table and its indexes.
    for statement, (kind, name, table) in _parsed():
        found = sa.inspect(db)
        there = found.has_table(name) if kind == "TABLE" else name in _indexes(found, table)
        if not there:
            db.exec_driver_sql(statement.format_map(types))


def downgrade() -> None:
    for _, (kind, name, table) in reversed(_parsed()):
        found = sa.inspect(op.get_bind())
        if kind == "TABLE":
            op.drop_table(name, if_exists=True)
        elif not table.startswith("warre_"):
            indexes = _indexes(found, table)
            if columns := indexes.pop(name, None):
                _drop_index(name, table, columns[0], indexes.values())


def _parsed() -> list[tuple[str, tuple[str, str, str]]]:
    """Each statement, with the kind and name of what it makes, and the table of an index."""
    found = [(statement, _MADE.match(statement.strip())) for statement in _STATEMENTS]
    return [(s, (m["kind"], m["name"], m["table"] or "")) for s, m in found if m]


def _types_of_ids(db: sa.Connection) -> dict[str, str]:
    """The type of the ids of each of Blazar's tables to which a foreign key refers.

    A foreign key needs the type of the column to which it refers, and its character set. Blazar's
    columns have the character set that the database had when Blazar's tables were made.
    """
    wanted = set(re.findall(r"\{(\w+)\}", "".join(_STATEMENTS)))
    wanted |= {table for _, (_, _, table) in _parsed() if not table.startswith("warre_")} - {""}
    found = sa.inspect(db)
    if missing := wanted - set(found.get_table_names()):
        raise CommandError(
            f"Blazar's tables {', '.join(sorted(missing))} are not there yet: run "
            "'blazar-db-manage --config-file ... upgrade head' first, then this command again."
        )
    types = {t: {c["name"]: c["type"] for c in found.get_columns(t)} for t in wanted}
    return {table: columns["id"].compile(db.dialect) for table, columns in types.items()}


def _indexes(found: sa.Inspector, table: str) -> dict[str, Sequence[str | None]]:
    """The columns of each index of a table, by the index's name."""
    return {str(index["name"]): index["column_names"] for index in found.get_indexes(table)}


def _drop_index(
    name: str, table: str, first: str | None, others: Iterable[Sequence[str | None]]
) -> None:
    """Drop an index of a table of Blazar's.

    When an index that begins with a foreign key was made, InnoDB dropped the index that it had made
    for the foreign key. But a foreign key needs an index. So InnoDB's index is made again before.

    :param first: the first column of the index.
    :param others: the columns of the table's other indexes.
    """
    keys = sa.inspect(op.get_bind()).get_foreign_keys(table)
    is_key = any(key["constrained_columns"] == [first] for key in keys)
    if first and is_key and not any(columns[0] == first for columns in others):
        op.create_index(first, table, [first])
    op.drop_index(name, table)
