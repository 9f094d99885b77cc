"""Tables as values, which one template shows."""

import dataclasses
from collections.abc import Sequence
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

    @property
    def labeled_rows(self) -> list[list[tuple[Any, Any]]]:
        """The rows, with each cell after the header of its column."""
        return [list(zip(self.headers, row, strict=True)) for row in self.rows]
