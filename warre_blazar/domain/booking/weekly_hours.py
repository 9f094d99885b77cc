"""Weekly hours: the times of a week within which long reservations of a flavor must lie."""

import dataclasses
import datetime
import functools
import re
import zoneinfo
from collections.abc import Iterator
from typing import Self

from warre_blazar import texts, times
from warre_blazar.domain.timeline import Span

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = "|".join(_DAYS)
_CLOCK = r"(\d\d?)(?::([0-5]\d))?"
_PERIOD = re.compile(rf"({_DAY})(?:-({_DAY}))?(?: {_CLOCK}-{_CLOCK})?")
_ALL = re.compile(r"(\d{1,6}) ?h (.+) (\S+)")


@dataclasses.dataclass(frozen=True)
class _Period:
    """A time on some days of the week, since midnight. It may end on the next day."""

    weekdays: frozenset[int]
    start: datetime.timedelta
    end: datetime.timedelta


@dataclasses.dataclass(frozen=True)
class WeeklyHours:
    """Reservations that are longer than some hours lie within these times of each week."""

    longest: datetime.timedelta
    periods: tuple[_Period, ...]
    zone: datetime.tzinfo

    @classmethod
    @functools.lru_cache(maxsize=256)
    def parse(cls, text: str) -> Self:
        """Read a text such as "8h mon-fri 19:00-08:00, sat-sun Europe/Berlin".

        :raises NotValid: the text has another form, or there is no such zone.
        """
        found = _ALL.fullmatch(text)
        if found is None:
            raise _not_valid(text)
        hours, periods, zone = found.groups()
        try:
            known = zoneinfo.ZoneInfo(zone)
        except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError) as error:
            raise _not_valid(zone) from error
        read = tuple(_period(each) for each in periods.split(", "))
        return cls(int(hours) * times.HOUR, read, known)

    def spans(self, window: Span, until: datetime.datetime) -> list[Span]:
        """The weekly hours that overlap a window, each as long as possible, sorted by start.

        :param until: what begins a week later or more is left out.
        """
        joined: list[Span] = []
        for span in sorted(self._each(window, until), key=lambda each: each.start):
            if joined and span.start <= joined[-1].end:
                joined[-1] = joined[-1].hull(span)
            else:
                joined.append(span)
        return joined

    def _each(self, window: Span, until: datetime.datetime) -> Iterator[Span]:
        """The periods of each day. One week before and after, so that joined ones are whole."""
        week = len(_DAYS) * times.DAY
        first = max(window.start, datetime.datetime.min + 2 * week) - week
        last = min(window.end, until, datetime.datetime.max - 2 * week) + week
        for number in range((last - first).days + 1):
            day = (first + number * times.DAY).date()
            for period in self.periods:
                if day.weekday() not in period.weekdays:
                    continue
                start, end = self._utc(day, period.start), self._utc(day, period.end)
                if start < end:  # When clocks are put forward, a short period may have no time.
                    yield Span(start, end)

    def _utc(self, day: datetime.date, since_midnight: datetime.timedelta) -> datetime.datetime:
        local = datetime.datetime.combine(day, datetime.time.min) + since_midnight
        return local.replace(tzinfo=self.zone).astimezone(datetime.UTC).replace(tzinfo=None)


def _not_valid(part: str) -> texts.NotValid:
    return texts.NotValid(texts.expected.WEEKLY_HOURS(part=part))


def _period(text: str) -> _Period:
    found = _PERIOD.fullmatch(text)
    if found is None:
        raise _not_valid(text)
    first, last = _DAYS.index(found[1]), _DAYS.index(found[2] or found[1])
    count = (last - first) % len(_DAYS) + 1
    weekdays = frozenset((first + number) % len(_DAYS) for number in range(count))
    if found[3] is None:
        return _Period(weekdays, times.NO_TIME, times.DAY)
    start, end = (
        int(hour) * times.HOUR + int(minute or 0) * times.MINUTE
        for hour, minute in ((found[3], found[4]), (found[5], found[6]))
    )
    if start >= times.DAY or end > times.DAY:
        raise _not_valid(text)
    return _Period(weekdays, start, end if end > start else end + times.DAY)
