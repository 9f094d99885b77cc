"""Directives that print tables of the code: the states of leases, and what an audit finds."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from warre_blazar.domain.audit.differences import DifferenceKind
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.running.lease_states import TableRow

ANY = "any"
STATE_HEADER = (
    *("Name", "Lease", "Reservations", "Further conditions"),
    *("What it means", "What is done"),
)
DIFFERENCE_HEADER = ("Name", "What it means", "What is done", "Needs")
TARGET_HEADER = ("Reservations", "Lease", "Start event", "End event")

_TORN = {
    True: "hosts or notes contradict the reservations",
    False: "hosts and notes agree with the reservations",
}
_OVER = {True: "after the lease's end", False: "before the lease's end"}
_SETTLED = {
    True: "statuses and events agree with the reservations",
    False: "statuses or events contradict the reservations",
}


def state_cells(row: TableRow) -> tuple[str, ...]:
    """A row of the table of states as texts, one for each of ``STATE_HEADER``."""
    return (
        f"``{row.name}``",
        _one_of(row.leases),
        _one_of(row.reservations),
        "; ".join(_conditions(row)) or ANY,
        row.meaning,
        str(row.action),
    )


def target_cells() -> list[tuple[str, ...]]:
    """What ``settle`` writes, by what the reservations are; columns as in ``TARGET_HEADER``."""
    return [
        (str(reservations), target.lease, target.start, target.end)
        for reservations, target in lease_states.TARGETS.items()
    ]


def difference_cells() -> list[tuple[str, ...]]:
    """What an audit can find; columns as in ``DIFFERENCE_HEADER``."""
    return [
        (f"``{kind.label}``", kind.value.meaning, kind.value.remedy, _literal(kind.value.needs))
        for kind in DifferenceKind
    ]


def _literal(needs: str) -> str:
    return f"``{needs}``" if needs.startswith("--") else str(needs)


def _one_of(values: Sequence[str] | None) -> str:
    return ANY if values is None else ", ".join(str(value) for value in values)


def _conditions(row: TableRow) -> list[str]:
    found = []
    if row.claims is not None:
        found.append(f"claim {_one_of(row.claims)}")
    if row.ages is not None:
        found.append(f"age {_one_of([age.name for age in row.ages])}")
    flags = ((row.torn, _TORN), (row.is_over, _OVER), (row.settled, _SETTLED))
    return found + [texts[flag] for flag, texts in flags if flag is not None]


def _list_table(header: Sequence[str], rows: Iterable[Sequence[str]], widths: str) -> list[str]:
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in (header, *rows):
        for number, cell in enumerate(row):
            lines.append(f"   {'*' if number == 0 else ' '} - {cell}")
    return lines


class _Table(Directive):
    """A table that is parsed where the directive stands."""

    lines: ClassVar[list[str]]

    def run(self) -> list[nodes.Node]:
        node = nodes.container()
        self.state.nested_parse(StringList(self.lines, source=__file__), 0, node)
        return node.children


class StateTable(_Table):
    """``.. state-table::``"""

    lines: ClassVar[list[str]] = _list_table(
        STATE_HEADER, [state_cells(row) for row in lease_states.TABLE], "14 13 13 20 25 15"
    )


class TargetTable(_Table):
    """``.. target-table::``"""

    lines: ClassVar[list[str]] = _list_table(TARGET_HEADER, target_cells(), "25 25 25 25")


class DifferenceTable(_Table):
    """``.. difference-table::``"""

    lines: ClassVar[list[str]] = _list_table(DIFFERENCE_HEADER, difference_cells(), "18 36 32 14")


def setup(app: Any) -> dict[str, Any]:
    """Sphinx calls it."""
    app.add_directive("state-table", StateTable)
    app.add_directive("target-table", TargetTable)
    app.add_directive("difference-table", DifferenceTable)
    return {"parallel_read_safe": True}
