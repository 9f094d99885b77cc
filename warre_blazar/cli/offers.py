"""What could be booked instead."""

import dataclasses
import datetime

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
    """What was refused. ``flavor`` is an id or a name."""

    flavor: str
    start: datetime.datetime
    end: datetime.datetime
    count: int
    affinity: bool | None


def instead(client: Client, wanted: Wanted, error: errors.ApiError) -> str:
    """Why not, and the first start from then on that would do."""
    why = _REASONS.get(error.code, str(error).rstrip("."))
    asked, free = error.detail.get("asked"), error.detail.get("free")
    if asked and free:
        why += f" for all {asked}: {free} {'is' if free == 1 else 'are'}"
    length = wanted.end - wanted.start
    what = f"{_hours(length)} h with {wanted.count} slot{'s' if wanted.count > 1 else ''}"
    try:
        spans = client.flavors.free_slots(
            wanted.flavor, start=wanted.start, count=wanted.count, affinity=wanted.affinity
        )
    except errors.ClientError:
        return f"{why}. See flavor-free-slots {wanted.flavor} for when it is free"
    found = first(spans, length)
    if found is None:
        return (
            f"{why}, nor are there {what} in the year after. Try fewer slots or hours; "
            f"flavor-calendar {wanted.flavor} shows what is free"
        )
    return (
        f"{why}. The first {what} start {found:%Y-%m-%d %H:%M} UTC: --start {found:%Y-%m-%dT%H:%MZ}"
    )


def _hours(length: datetime.timedelta) -> str:
    return f"{length.total_seconds() / 3600:.2f}".rstrip("0").rstrip(".")
