"""What could be booked instead."""

import dataclasses
import datetime

from warre_blazar.cli import display
from warre_blazar.cli.names import Fields
from warre_blazar.client import Client, Span, errors

#: Refusals that another time may help with.
CODES = frozenset(
    {"slots_exhausted", "hosts_exhausted", "maintenance", "before_flavor_start", "after_flavor_end"}
)
_REASONS = {
    "slots_exhausted": "No slot free then",
    "hosts_exhausted": "No host has room then",
    "maintenance": "Closed for maintenance then",
}


def first(spans: list[Span], length: datetime.timedelta) -> datetime.datetime | None:
    """The first start at which so long a booking fits."""
    return min((span.start for span in spans if span.length >= length), default=None)


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is to be booked.

    ``flavor`` is an id or a name, ``where`` the zone that times are shown in.
    """

    flavor: str
    start: datetime.datetime
    end: datetime.datetime
    count: int
    affinity: bool | None
    where: datetime.tzinfo

    @property
    def length(self) -> datetime.timedelta:
        """What passes from start to end, whatever clocks show."""
        return self.end.astimezone(datetime.UTC) - self.start.astimezone(datetime.UTC)

    @property
    def period(self) -> str:
        """When, for people: in the zone that the start was given in."""
        return display.period(self.start, self.end, self.start.tzinfo or self.where)


def instead(client: Client, wanted: Wanted, error: errors.ApiError, app: object) -> str:
    """Why not, and the first start from then on that would do.

    :param app: the CLI that is running, whose commands' names are used.
    """
    why = _REASONS.get(error.code, str(error).rstrip("."))
    asked, free = error.detail.get("asked"), error.detail.get("free")
    if asked and free:
        why += f" for all {asked}: {free} {'is' if free == 1 else 'are'}"
    return f"{why}. {later(client, wanted, app)}"


def later(client: Client, wanted: Wanted, app: object) -> str:
    """The first start that would do, or where to look for one."""
    what = f"{_hours(wanted.length)} h with {display.slots(wanted.count)}"
    free_slots, calendar = (Fields(app)[n] for n in ("flavor-free-slots", "flavor-calendar"))
    try:
        spans = client.flavors.free_slots(
            wanted.flavor, start=wanted.start, count=wanted.count, affinity=wanted.affinity
        )
    except errors.ClientError:
        return f"See {free_slots} {wanted.flavor} for when it is free"
    found = first(spans, wanted.length)
    if found is None:
        return (
            f"There are no {what} in the year after. Try fewer slots or hours; "
            f"{calendar} {wanted.flavor} shows what is free"
        )
    return (
        f"The first {what} start {display.brief(found, wanted.where)}: "
        f"--start {display.argument(found, wanted.where)}"
    )


def _hours(length: datetime.timedelta) -> str:
    return f"{length.total_seconds() / 3600:.2f}".rstrip("0").rstrip(".")
