"""Whether a migration only adds what programs of the revision before can ignore."""

import sqlalchemy as sa

#: What happens to a row of a new table when an older program deletes a row to which it refers.
_HARMLESS = ("CASCADE", "SET NULL")


def hindrances(before: sa.MetaData, after: sa.MetaData) -> list[str]:
    """What of the tables after a migration hinders programs that know only those before it."""
    found = []
    for name, old in before.tables.items():
        new = after.tables.get(name)
        if new is None:
            found.append(f"table {name} is gone")
            continue
        found += [f"{name}.{c.name} is gone" for c in old.columns if c.name not in new.columns]
        found += _changed(old, new)
        found += [f"{name} has a new unique key {key}" for key in _unique(new) - _unique(old)]
    for name, new in after.tables.items():
        olds = before.tables[name].foreign_keys if name in before.tables else ()
        known = {key.target_fullname for key in olds}
        for key in new.foreign_keys:
            is_old = key.column.table.name in before.tables and key.target_fullname not in known
            if is_old and key.ondelete not in _HARMLESS:
                found.append(f"{name}.{key.parent.name} keeps a row of {key.target_fullname}")
    return found


def _changed(old: sa.Table, new: sa.Table) -> list[str]:
    found = []
    for column in new.columns:
        known = old.columns.get(column.name)
        if known is None:
            if not column.nullable and column.server_default is None:
                found.append(f"new column {new.name}.{column.name} needs a value")
        elif (str(known.type), known.nullable) != (str(column.type), column.nullable):
            found.append(f"{new.name}.{column.name} has changed")
    return found


def _unique(table: sa.Table) -> set[tuple[str, ...]]:
    indexes = (index.columns.keys() for index in table.indexes if index.unique)
    constraints = (
        constraint.columns.keys()
        for constraint in table.constraints
        if isinstance(constraint, sa.UniqueConstraint | sa.PrimaryKeyConstraint)
    )
    return {tuple(sorted(columns)) for columns in (*indexes, *constraints)}
