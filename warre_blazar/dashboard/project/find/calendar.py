"""The calendar of free instances: flavors by days or hours, as values for the template."""

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence

from django.utils import formats, timezone
from django.utils.translation import gettext as _

from warre_blazar.client import Availability, FlavorName, Span, Window
from warre_blazar.client.types import FlavorSize, FreePart
from warre_blazar.dashboard import verdicts

#: Leads from a flavor and a day or hour to where a click goes.
Address = Callable[[FlavorName, Span], str]


#: What cells show in place of a number, by the code that says why nothing is free: a class of the
#: style sheet, and a sign. In all others, everything is booked.
_CLOSED, _OUTSIDE = ("closed", "\N{MULTIPLICATION X}"), ("outside", "\N{EN DASH}")
_SIGNS = {
    **dict.fromkeys(("maintenance", "flavor_inactive"), _CLOSED),
    **dict.fromkeys(("before_flavor_start", "after_flavor_end", "too_far_ahead"), _OUTSIDE),
    **dict.fromkeys(("too_short_notice", "outside_weekly_hours"), _OUTSIDE),
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """How many instances are free in a day or hour."""

    #: The number, or a sign.
    text: str
    #: The classes of the style sheet by which the cell is shaded and framed.
    style: str
    href: str
    #: The cell in words, for people who can't see where it is.
    label: str


@dataclasses.dataclass(frozen=True)
class FlavorRow:
    """A flavor and its cells."""

    flavor: FlavorSize
    cells: Sequence[Cell]
    #: Why what the user wants can't be booked.
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


def of(
    found: Availability,
    not_offered: Mapping[str, str],
    windows: Sequence[Window],
    by: str,
    address: Address,
) -> Calendar:
    """Make a calendar of what the API says is free.

    :param not_offered: the codes that say why there is no offer of flavors, by the flavor's id.
    :param windows: the maintenance windows that the user may see.
    :param by: ``day`` or ``hour``.
    """
    heads = [_head(part.span, by) for part in found.flavors[0].free] if found.flavors else []
    rows = [FlavorRow(each.flavor, (), verdicts.brief(each.reason)) for each in found.missing]
    for each in found.flavors:
        cells = [
            _cell(
                each.flavor,
                part,
                head.label,
                _why(each.flavor, part, windows),
                address(each.flavor, part.span),
            )
            for head, part in zip(heads, each.free, strict=True)
        ]
        why = not_offered.get(each.flavor.id)
        rows.append(FlavorRow(each.flavor, cells, verdicts.brief(why) if why else ""))
    return Calendar(heads, sorted(rows, key=lambda row: row.flavor.name))


def _why(flavor: FlavorSize, part: FreePart, windows: Sequence[Window]) -> list[str]:
    """Why fewer than the user wants are free, with what operators say about maintenance."""
    if not part.reason:
        return []
    said = [verdicts.brief(part.reason)]
    if part.reason == "maintenance":
        said += [
            each.note
            for each in windows
            if each.note
            and flavor.id in {closed.id for closed in each.flavors}
            and each.start < part.span.end
            and each.end > part.span.start
        ]
    return said


def _cell(flavor: FlavorSize, part: FreePart, time: str, why: list[str], href: str) -> Cell:
    free = part.instances
    style, text = f"level{_level(free, flavor.slots)}", str(free)
    label = _("%(flavor)s, %(time)s: %(free)d of %(slots)d free")
    said = [label % {"flavor": flavor.name, "time": time, "free": free, "slots": flavor.slots}]
    said += why
    if part.reason in _SIGNS and not free:
        style, text = _SIGNS[part.reason]
    if part.can_start:
        style += " starts"
        said.append(
            _("a part of this time has room, and your booking can begin in it")
            if why
            else _("your booking can begin then")
        )
    return Cell(text, style, href, "; ".join(said))


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
