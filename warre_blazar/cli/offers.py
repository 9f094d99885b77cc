"""What could be booked instead."""

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


def instead(
    client: Client,
    flavor: str,
    start: datetime.datetime,
    end: datetime.datetime,
    count: int,
    error: errors.ApiError,
) -> str:
    """Why not, and the first start from then on that would do."""
    why = _REASONS.get(error.code, str(error).rstrip("."))
    asked, free = error.detail.get("asked"), error.detail.get("free")
    if asked and free:
        why += f" for all {asked}: {free} {'is' if free == 1 else 'are'}"
    length = end - start
    what = f"{_hours(length)} h with {count} slot{'s' if count > 1 else ''}"
    try:
        found = first(client.flavors.free_slots(flavor, start=start, count=count), length)
    except errors.ClientError:
        return f"{why}. See flavor-free-slots {flavor} for when it is free"
    if found is None:
        return (
            f"{why}, nor are there {what} in the year after. Try fewer slots or hours; "
            f"flavor-calendar {flavor} shows what is free"
        )
    return (
        f"{why}. The first {what} start {found:%Y-%m-%d %H:%M} UTC: --start {found:%Y-%m-%dT%H:%MZ}"
    )


def _hours(length: datetime.timedelta) -> str:
    return f"{length.total_seconds() / 3600:.2f}".rstrip("0").rstrip(".")
