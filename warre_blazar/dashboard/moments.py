"""Days and moments in the zone that the user has chosen in Horizon."""

import datetime

from django.utils import formats, timezone


def when(moment: datetime.datetime) -> str:
    """Return a moment in the user's zone, with the day of the week."""
    local = timezone.localtime(moment)
    return f"{formats.date_format(local, 'D')} {local:%Y-%m-%d %H:%M}"


def midnight(day: datetime.date) -> datetime.datetime:
    """Return the start of a day in the user's zone, in UTC."""
    start = datetime.datetime.combine(day, datetime.time())
    return timezone.make_aware(start).astimezone(datetime.UTC)


def today() -> datetime.date:
    """Return the present day in the user's zone."""
    return timezone.localdate()


def query(moment: datetime.datetime) -> str:
    """Return a moment as fields of forms take it from an address."""
    return f"{timezone.localtime(moment):%Y-%m-%dT%H:%M}"
