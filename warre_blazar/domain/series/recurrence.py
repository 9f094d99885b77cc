"""Computes the occurrences of a series from its rule, an RRULE of RFC 5545.

A rule is about local time, so an occurrence keeps its wall time when the clocks change. As RFC 5545
says, a local time that the clocks skip is read with the offset before the change, and a local time
that occurs twice is its first one.

Any user may send a rule, so it must not be able to keep a process busy. dateutil looks for the next
occurrence until the year 9999, also if there is none. So a rule is read in a stretch of years with
the same calendar, whose end is near that year: what would be a search through 8000 years is one
through a few decades.
"""

import calendar
import dataclasses
import datetime
import functools
import itertools
from collections.abc import Iterator

from dateutil import rrule

from warre_blazar import texts, times
from warre_blazar.domain.series import rules
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.texts import Said


@dataclasses.dataclass(frozen=True)
class Recurrence:
    """When a series takes place."""

    #: The local time at which the first occurrence starts.
    start: datetime.datetime
    #: The name of the time zone.
    timezone: str
    #: The parts of the rule, as ``rules.GivenRule`` has them.
    rule: str
    length: datetime.timedelta
    #: The local days and starts that are left out, as ``rules.GivenRule`` has them. The COUNT of a
    #: rule counts them too, as in RFC 5545.
    exdates: tuple[str, ...] = ()

    @property
    def is_endless(self) -> bool:
        """Whether the rule has no end. New series can't have such a rule, but old ones may."""
        return not {"COUNT", "UNTIL"} & rules.parts(self.rule).keys()

    def occurrences(
        self, most: int, until: datetime.datetime | None = None, *, endless: bool = False
    ) -> list[Span]:
        """The occurrences of the rule, the earliest first, in naive UTC.

        :param most: the largest number of occurrences that the rule may have.
        :param until: the last local time at which an occurrence may start.
        :param endless: whether to ignore the end of the rule, which it then needn't have.
        :raises InvalidField: the rule can't be read, has no end, has too many or no occurrences,
            has two that are too close, or doesn't begin at the start.
        """
        parts = rules.parts(self.rule)
        if self.is_endless and not endless:
            raise rules.refused(texts.expected.RULE_END(rule=self.rule))
        count, ends = (None, None) if endless else self._end(parts, most)
        limits = [moment for moment in (ends, until) if moment is not None]
        found = itertools.takewhile(
            lambda local: all(local <= limit for limit in limits), self._locals(parts)
        )
        starts = list(itertools.islice(found, count or most + 1))
        if len(starts) > most and limits:
            raise rules.refused(texts.expected.RULE_TOO_MANY(most=most))
        if len(starts) < (count or 0) or any(limit > self._horizon for limit in limits):
            raise rules.refused(texts.expected.RULE_TOO_LONG(years=times.SERIES_YEARS))
        spans = [self._span(local) for local in starts[:most] if not self._left_out(local)]
        if starts and not spans:
            raise rules.refused(texts.expected.RULE_ALL_LEFT_OUT())
        for one, other in itertools.pairwise(spans):
            if other.start - one.start < times.OCCURRENCES_APART:
                raise rules.refused(texts.expected.RULE_TOO_CLOSE())
        return spans

    def _left_out(self, local: datetime.datetime) -> bool:
        return bool({f"{local:%Y-%m-%d}", local.isoformat(timespec="minutes")} & {*self.exdates})

    @property
    def _horizon(self) -> datetime.datetime:
        """The local time at which the search for occurrences ends."""
        return _in_year(self.start, self.start.year + times.SERIES_YEARS)

    def _end(self, parts: dict[str, str], most: int) -> tuple[int | None, datetime.datetime | None]:
        """The number of occurrences and the last local start that the rule names."""
        if "COUNT" in parts and "UNTIL" in parts:
            raise rules.refused(texts.expected.RULE_ONE_END())
        if "COUNT" in parts:
            if not rules.WHOLE.fullmatch(parts["COUNT"]) or int(parts["COUNT"]) > most:
                raise rules.refused(texts.expected.RULE_COUNT(most=most))
            return int(parts["COUNT"]), None
        return None, rules.until(parts["UNTIL"], self.timezone) if "UNTIL" in parts else None

    def _locals(self, parts: dict[str, str]) -> Iterator[datetime.datetime]:
        """The local starts of the rule within ``times.SERIES_YEARS``, without regard to its end."""
        shift = _late_year(self.start.year) - self.start.year
        text = ";".join(f"{k}={v}" for k, v in parts.items() if k not in ("COUNT", "UNTIL"))
        first = None
        try:
            rule = rrule.rrulestr(text, dtstart=_in_year(self.start, self.start.year + shift))
            for late in rule:
                local = _in_year(late, late.year - shift)
                if first is None and local != self.start:
                    raise exceptions.InvalidField("start", _start_expected(local))
                if local >= self._horizon:
                    return
                first = local
                yield local
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError):
            raise rules.refused(texts.expected.RULE()) from None
        if first is None:
            raise exceptions.InvalidField("start", texts.expected.RULE_NO_START())

    def _span(self, local: datetime.datetime) -> Span:
        try:
            aware = local.replace(tzinfo=rules.zone(self.timezone), fold=0)
            start = aware.astimezone(datetime.UTC).replace(tzinfo=None)
            return Span(start, start + self.length)
        except OverflowError:
            raise exceptions.InvalidField("start", texts.expected.RULE_YEAR()) from None


def _start_expected(first: datetime.datetime) -> Said:
    return texts.expected.RULE_START(first=f"{first:%Y-%m-%d %H:%M}")


@functools.lru_cache
def _late_year(year: int) -> int:
    """The latest year from which on the next years have the same days as those from ``year`` on."""
    here = [_shape(year + n) for n in range(-1, times.SERIES_YEARS + 1)]
    last = datetime.MAXYEAR - times.SERIES_YEARS
    return next(
        late
        for late in range(last, last - 400, -1)
        if [_shape(late + n) for n in range(-1, times.SERIES_YEARS + 1)] == here
    )


def _shape(year: int) -> tuple[bool, int]:
    """What decides which days a year has: whether it is a leap year, and its first weekday."""
    return calendar.isleap(year), calendar.weekday(year, 1, 1)


def _in_year(moment: datetime.datetime, year: int) -> datetime.datetime:
    """The same time in another year, which for 29 February may be the next day."""
    try:
        return moment.replace(year=year)
    except ValueError:
        return moment.replace(year=year, month=3, day=1)
