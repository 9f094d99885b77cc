"""The calendar of free instances: flavors by days or hours, as values for the template."""

import dataclasses
import datetime
from collections.abc import Callable, Sequence

from django.utils import formats, timezone
from django.utils.translation import gettext as _

from warre_blazar.client import Availability, FlavorName, Span
from warre_blazar.client.types import FlavorSize
from warre_blazar.dashboard import verdicts

#: Leads from a flavor and a day or hour to where a click goes.
Address = Callable[[FlavorName, Span], str]


@dataclasses.dataclass(frozen=True)
class Cell:
    """How many instances are free in a day or hour."""

    free: int
    #: From 0 (none) to 4 (all slots). The template shades the cell by it.
    level: int
    #: Whether as many are free as the user wants.
    enough: bool
    href: str
    #: The cell in words, for people who can't see where it is.
    label: str


@dataclasses.dataclass(frozen=True)
class FlavorRow:
    """A flavor and its cells."""

    flavor: FlavorSize
    cells: Sequence[Cell]
    #: Why the flavor can't be booked, in place of the cells.
    reason: str = ""


@dataclasses.dataclass(frozen=True)
class Head:
    """The head of a column: two short lines, and the whole in words."""

    upper: str
    lower: str
    label: str


@dataclasses.dataclass(frozen=True)
class Calendar:
    """Flavors by days or hours."""

    heads: Sequence[Head]
    rows: Sequence[FlavorRow]


def of(found: Availability, count: int, by: str, address: Address) -> Calendar:
    """Make a calendar of what the API says is free.

    :param count: how many instances the user wants.
    :param by: ``day`` or ``hour``.
    """
    spans = [span for span, _free in found.flavors[0].free] if found.flavors else []
    heads = [_head(span, by) for span in spans]
    rows = [FlavorRow(each.flavor, (), verdicts.brief(each.reason)) for each in found.missing]
    for each in found.flavors:
        name = each.flavor.name
        cells = [
            Cell(
                free,
                _level(free, each.flavor.slots),
                free >= count,
                address(each.flavor, span),
                _("%(flavor)s, %(time)s: %(free)d of %(slots)d free")
                % {"flavor": name, "time": head.label, "free": free, "slots": each.flavor.slots},
            )
            for head, (span, free) in zip(heads, each.free, strict=True)
        ]
        rows.append(FlavorRow(each.flavor, cells))
    return Calendar(heads, sorted(rows, key=lambda row: row.flavor.name))


def _level(free: int, slots: int) -> int:
    """How dark a cell is. Full darkness means that all slots are free."""
    return 0 if free <= 0 else min(4, 1 + (3 * free) // max(1, slots))


def _head(span: Span, by: str) -> Head:
    local = timezone.localtime(span.start)
    day = formats.date_format(local, "D")
    if by == "hour":
        return Head(f"{local:%H}", f"{local:%M}", f"{day} {local:%Y-%m-%d %H:%M}")
    # The middle is in the right day even where the clocks change.
    middle = timezone.localtime(span.start + (span.end - span.start) / 2)
    day = formats.date_format(middle, "D")
    return Head(day, f"{middle:%d}", f"{day} {middle:%Y-%m-%d}")


def hour_after(now: datetime.datetime, span: Span) -> datetime.datetime | None:
    """The start of a booking in a part of the calendar. None: as soon as possible."""
    return None if span.start <= now + datetime.timedelta(minutes=2) else span.start
