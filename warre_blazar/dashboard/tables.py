"""Tables as values, which one template shows."""

import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Link:
    """A cell that leads to another page."""

    text: Any
    href: str


@dataclasses.dataclass(frozen=True)
class Table:
    """A table.

    :ivar caption: what the table shows, for people who can't see the page.
    :ivar rows: cells are texts, numbers or ``Link``.
    :ivar empty: what the page says if there are no rows.
    """

    caption: Any
    headers: Sequence[Any]
    rows: Sequence[Sequence[Any]]
    empty: Any
    #: The addresses of the same table sorted by a column, by the column's header.
    sorted_by: Mapping[Any, str] = dataclasses.field(default_factory=dict)

    @property
    def heads(self) -> list[tuple[Any, str | None]]:
        """The headers, with the address of the table that is sorted by the column."""
        return [(head, self.sorted_by.get(head)) for head in self.headers]

    @property
    def labeled_rows(self) -> list[list[tuple[Any, Any]]]:
        """The rows, with each cell after the header of its column."""
        return [list(zip(self.headers, row, strict=True)) for row in self.rows]


#: What is in a column: the name of an attribute of each item, or a function of it.
Column = str | Callable[[Any], Any]


def of(caption: Any, items: Iterable[Any], columns: Mapping[Any, Column], empty: Any) -> Table:
    """Return a table with a row for each item.

    :param columns: by header.
    """
    cells = [operator.attrgetter(c) if isinstance(c, str) else c for c in columns.values()]
    return Table(caption, list(columns), [[cell(each) for cell in cells] for each in items], empty)
