"""Works out which moment a user means who has typed a time, or refuses the time.

A text must never be taken for a time that the user doesn't mean. So only the forms in
``time_forms`` are read. (Libraries that parse times, such as dateparser and dateutil, guess which
number is the day, and skip words that they don't know. The standard library's parser of RFC 2822
skips the weekday, and takes an unknown zone for none.) A text in one of these forms is still
refused if it could mean different times, or if clocks skip the time. A refusal suggests texts that
are understood, and that have all parts of the refused text. If there is no such text, it only says
how times are written.
"""

import contextlib
import datetime
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping

from warre_blazar.cli import time_forms, time_suggestions, time_zones, times
from warre_blazar.cli.failure import WrongArguments
from warre_blazar.cli.time_forms import DAYS, MONTHS, WEEKDAYS

#: The years that a time may be in. Some time zones or programs can't represent other years.
_YEARS = range(1970, 9999)
_NO_FORM = "it has none of the forms of a time"
_UTC = datetime.UTC


class NotUnderstood(WrongArguments):
    """A text isn't understood as a time.

    :ivar forms: similar texts that would be understood.
    """

    def __init__(self, text: str, problem: str, forms: list[str], examples: str) -> None:
        self.forms = forms
        *most, last = [form if " " not in form else f"'{form}'" for form in forms] or [""]
        instead = f"{', '.join(most)} or {last}" if most else last
        advice = f"Write {instead}" if forms else f"A time has a form {examples}"
        super().__init__(f"Time {text!r} refused: {problem}. {advice}")


class _Unclear(Exception):
    """A text isn't understood, or could mean different times.

    :param problem: what is wrong, for people.
    :param forms: texts that the user may mean. Some of them may be refused too.
    """

    def __init__(self, problem: str, *forms: str) -> None:
        super().__init__(problem)
        self.problem, self.forms = problem, forms


def is_exact(text: str) -> bool:
    """Whether a time is ISO 8601 with an offset from UTC, so that it can't be misunderstood."""
    match = time_forms.match(text.strip())
    return bool(match and match["iso"] and match["offset"] and not match["half"])


def inexact_zones(
    typed: Mapping[str | None, datetime.datetime | None], where: datetime.tzinfo
) -> list[datetime.tzinfo]:
    """Return the time zones of those typed times that aren't in ISO 8601 with an offset.

    :param typed: the times. The key of each time is the text that the user has typed for it.
    """
    return [
        moment.tzinfo or where
        for text, moment in typed.items()
        if text and moment and not is_exact(text)
    ]


def parse(
    text: str,
    where: datetime.tzinfo,
    now: datetime.datetime,
    *,
    start: datetime.datetime | None = None,
    looking_back: bool = False,
    whole_day: bool = False,
) -> datetime.datetime:
    """Return the moment that a text means, as a datetime with a time zone, in whole minutes.

    A day without a time of day means its first minute. Seconds are dropped.

    :param where: the time zone to use if the text doesn't name a zone. The result is in the zone
        that the text names, or else in this zone.
    :param start: the start of the period that the text ends, if it is an end. A weekday or a date
        without a year is the first one from the start on, and a time of day alone is on its day.
    :param looking_back: whether a date without a year may have passed, as in a list.
    :param whole_day: whether a day without a time of day means its last minute, as in the end of a
        list of starts.
    :raises NotUnderstood: the text means no time, or could mean different times.
    """
    text = " ".join(text.split())
    reading = _Reader(where, now, start, looking_back, whole_day)
    try:
        return reading.moment(text)
    except _Unclear as error:
        today = now.astimezone(where).date()
        no_form = error.problem == _NO_FORM
        forms = reading.proposed(time_suggestions.similar(text, today) if no_form else error.forms)
        problem = error.problem
        if no_form and forms and time_suggestions.has_date_of_digits(text):
            date = reading.moment(forms[0]).date()
            problem += f"; a date is written as {date} or '{_in_words(date)}'"
        week = datetime.timedelta(days=7)
        examples = time_suggestions.examples(today + week)
        raise NotUnderstood(text, problem, forms[:3], examples) from None


class _Reader:
    """Reads texts, for a given time zone and a given present time."""

    def __init__(
        self,
        where: datetime.tzinfo,
        now: datetime.datetime,
        start: datetime.datetime | None,
        looking_back: bool,
        whole_day: bool,
    ) -> None:
        self._where = where
        self._utc = now.astimezone(_UTC).replace(second=0, microsecond=0)
        self._start = start
        self._looking_back, self._whole_day = looking_back, whole_day
        self._not_here: _Unclear | None = None

    def proposed(self, forms: Iterable[str]) -> list[str]:
        """Return the texts that can be proposed to the user.

        They are understood, and don't mean times that have passed, unless the user looks back. Of
        texts that mean the same time, one is kept.
        """
        by_moment: dict[datetime.datetime, str] = {}
        for moment, form in self._understood(forms, 3):
            if self._looking_back or moment >= self._utc:
                by_moment.setdefault(moment, form)
        return list(by_moment.values())

    def _understood(
        self, forms: Iterable[str], depth: int
    ) -> Iterator[tuple[datetime.datetime, str]]:
        """Yield the understood texts. In place of others, yield what their refusals suggest."""
        for form in forms:
            try:
                yield self.moment(form), form
            except _Unclear as error:
                if depth:
                    yield from self._understood(error.forms, depth - 1)

    def moment(self, text: str) -> datetime.datetime:
        """Return the moment that a text means.

        :raises _Unclear: the text means no moment, or could mean several moments.
        """
        match = time_forms.match(text)
        if not match or not text:
            raise _Unclear(_NO_FORM)
        self._match = match
        self._zone = self._zone_of()
        self._now = self._utc.astimezone(self._zone)
        if match["now"]:
            moment = self._now
        elif match["epoch"]:
            moment = self._since_1970(int(match["epoch"]))
        elif match["count"]:
            moment = self._later(int(match["count"]), match["unit"].lower())
        else:
            clock = self._clock()
            moment = self._labeled(self._at(self._day(clock), clock))
        if not self._is_here(moment):
            raise self._not_here or _Unclear(_NO_FORM)
        return moment

    def _zone_of(self) -> datetime.tzinfo:
        """Return the zone that the text names, or else the user's zone.

        An abbreviation is accepted if the user's zone has it at the time that the text means. The
        error for other times is kept in ``_not_here``.
        """
        match, self._not_here = self._match, None
        offset, name, text = match["offset"], match["zone"], match[0].strip()
        # In "mon 9:00-11:00", 11:00 may be meant as the end. Seconds, or a year and an offset such
        # as -0500, are in RFC 2822.
        by_program = (
            match["iso"] or match["second"] or (match["year"] and ":" not in (offset or ""))
        )
        if offset and offset[0] == "-" and not by_program:
            bare = text[: -len(offset)].rstrip()
            problem = f"{offset} may be the end of a period, or an offset from UTC"
            raise _Unclear(problem, f"{bare} UTC{offset}")
        if not offset and not name:
            return self._where
        try:
            return time_zones.named(offset or name)
        except time_zones.NoZone as error:
            is_abbreviation = name and "/" not in name
            if is_abbreviation and not error.instead:
                raise _Unclear(_NO_FORM) from None
            bare = text[: -len(name)].rstrip() if name else ""
            forms = [f"{bare} {zone}" for zone in error.instead if bare]
            unclear = _Unclear(error.problem, *forms)
        if not is_abbreviation:
            raise unclear
        self._not_here = unclear
        return self._where

    def _is_here(self, moment: datetime.datetime) -> bool:
        """Whether the user's zone has the abbreviation in the text, if any, at a moment."""
        if not self._not_here:
            return True
        return (moment.tzname() or "").casefold() == self._match["zone"].casefold()

    def _since_1970(self, seconds: int) -> datetime.datetime:
        try:
            moment = datetime.datetime.fromtimestamp(seconds - seconds % 60, _UTC)
        except (OverflowError, ValueError):
            raise _Unclear("that is too far off") from None
        return _in_zone(moment, self._zone)

    def _labeled(self, moment: datetime.datetime) -> datetime.datetime:
        """Return the moment.

        :raises _Unclear: the text names a zone in brackets, as shown times do, and that zone has
            another offset at that time.
        """
        if label := self._match["label"]:
            try:
                agrees = moment.astimezone(zoneinfo.ZoneInfo(label)).utcoffset()
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
                agrees = None
            if agrees != moment.utcoffset():
                shown = moment.isoformat(timespec="minutes")
                raise _Unclear(f"{label} doesn't have this offset then", shown)
        return moment

    def _later(self, count: int, unit: str) -> datetime.datetime:
        """Return a moment after or before now. The time of day is the same after days and weeks."""
        count = count if self._match["coming"] else -count
        days = {"day": count, "week": 7 * count}.get(unit, 0)
        step = {"minute": count, "hour": 60 * count}.get(unit, 0)

        def after(moment: datetime.datetime) -> datetime.datetime:
            if days:
                clock = (moment.hour, moment.minute)
                return self._at(_plus(moment.date(), days), clock)
            return _in_zone(moment.astimezone(_UTC) + datetime.timedelta(minutes=step), self._zone)

        start, minute = self._start, datetime.timedelta(minutes=1)
        if self._match["coming"] and start and start - self._utc > minute:
            starts = (self._now, start.astimezone(self._zone))
            forms = [after(moment).isoformat(timespec="minutes") for moment in starts]
            raise _Unclear("it may be counted from now or from the start", *forms[::-1])
        try:
            return after(self._now)
        except OverflowError:
            raise _Unclear("that is too far off") from None

    # --- the time of day

    def _clock(self) -> tuple[int, int] | None:
        """Return the hour and the minute, or None if the text has no time of day."""
        match = self._match
        if match["clock"] is None:
            return None
        if match["noon"]:
            return (12, 0)
        if match["half"]:
            hour, minute = int(match["hour12"]), int(match["minute12"] or 0)
            # Programs agree on what 12 means. They print seconds too.
            if hour == 12 and not match["second12"]:
                forms = [self._with_day(f"{h}:{minute:02}") for h in (12, "00")]
                raise _Unclear("12 is at noon to some, at midnight to others", *forms)
            if not 1 <= hour <= 12:
                raise _Unclear(f"there is no {match['clock'].strip()}")
            return (hour % 12 + 12 * (match["half"].lower() == "pm"), minute)
        if basic := match["basic"]:
            hour, minute = int(basic[:2]), int(basic[2:4] or 0)
        else:
            hour, minute = int(match["hour"]), int(match["minute"])
        if hour > 24 or (hour == 24 and minute):
            raise _Unclear(f"a day has no {match['clock'].strip(' T')}")
        return (hour, minute)

    def _at(self, day: datetime.date, clock: tuple[int, int] | None) -> datetime.datetime:
        """Return the moment at which clocks show this time.

        Without a time, this is the day's first minute, or its last minute for a whole day.
        """
        if clock is None:
            first = _plus(day, 1) if self._whole_day else day
            # If clocks skip midnight, this is the minute to which they go on.
            early = datetime.datetime.combine(first, datetime.time(), self._zone).astimezone(_UTC)
            minutes = datetime.timedelta(minutes=1 if self._whole_day else 0)
            return (early - minutes).astimezone(self._zone)
        if clock[0] == 24:
            day, clock = _plus(day, 1), (0, 0)
        shown = datetime.datetime.combine(day, datetime.time(*clock))
        folds = (shown.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        typed = {moment.astimezone(_UTC): moment for moment in folds}
        moments = [utc.astimezone(self._zone) for utc in sorted(typed)]
        real = [moment for moment in moments if moment.replace(tzinfo=None, fold=0) == shown]
        here = [moment for moment in real if self._is_here(moment)]
        if len(here) == 1:
            return here[0]
        if self._not_here and not here:
            raise self._not_here
        how = f"show {shown:%Y-%m-%d %H:%M} twice" if real else f"skip {shown:%Y-%m-%d %H:%M}"
        forms = [typed[utc].isoformat(timespec="minutes") for utc in sorted(typed)]
        raise _Unclear(f"clocks in {time_zones.label(self._zone)} {how}", *forms)

    def _with_day(self, clock: str, day: datetime.date | None = None) -> str:
        """Return the text with another time of day, and with another day if one is given."""
        typed = self._match["clock"]
        text = self._match[0]
        if day is not None:
            text = f"{day}{text[self._match.start('clock') :] if typed else self._tail()}"
        return text.replace(typed, f" {clock}", 1).strip() if typed and clock else text.strip()

    def _tail(self) -> str:
        return f" {self._match['zone']}" if self._match["zone"] else ""

    # --- the day

    def _day(self, clock: tuple[int, int] | None) -> datetime.date:
        match = self._match
        today = self._now.date()
        if match["word"]:
            return _plus(today, DAYS.index(match["word"].lower()) - 1)
        weekday = _number_of(match["weekday"], WEEKDAYS) if match["weekday"] else None
        if match["iso"] or match["day"] or match["month_first"]:
            day = self._date()
            if weekday not in (None, day.weekday()):
                is_a = WEEKDAYS[day.weekday()].capitalize()
                raise _Unclear(f"{day} is a {is_a}", self._with_day("", day))
            return day
        if weekday is None:
            return self._same_day(clock)
        return self._weekday(weekday, clock)

    def _date(self) -> datetime.date:
        match = self._match
        if match["iso"]:
            try:
                return _possible(datetime.date.fromisoformat(match["iso"].upper()))
            except ValueError:
                raise _Unclear(f"the calendar has no {match['iso']}") from None
        month = _number_of(match["month"] or match["month_first"], MONTHS) + 1
        number = int(match["day"] or match["day_next"])
        if year := match["year"] or match["year_last"]:
            if dates := _dates(range(int(year), int(year) + 1), month, number):
                return _possible(dates[0])
            raise _Unclear(f"{MONTHS[month - 1].capitalize()} {year} has no day {number}")
        return self._without_year(month, number)

    def _without_year(self, month: int, number: int) -> datetime.date:
        """Return the date that is meant by a day and a month."""
        today = self._now.date()
        first = self._start.astimezone(self._zone).date() if self._start else today
        # Among nine years, there are two with a 29 February.
        dates = _dates(range(first.year - 9, first.year + 10), month, number)
        if not dates:
            raise _Unclear(f"{MONTHS[month - 1].capitalize()} has no day {number}")
        by_distance = sorted(dates, key=lambda date: abs((date - today).days))
        if self._looking_back:
            if abs((by_distance[0] - today).days) <= times.NEAREST_DATE_DAYS:
                return by_distance[0]
            raise self._either(*sorted(by_distance[:2]))
        coming = next(date for date in dates if date >= first)
        passed = next(date for date in reversed(dates) if date < first)
        if (first - passed).days <= times.JUST_PASSED_DAYS:
            problem = (
                f"it has no year, and {passed} is before {'the start' if self._start else 'today'}"
            )
            raise _Unclear(problem, self._with_day("", coming))
        if (coming - first).days > times.NEXT_DATE_DAYS:
            raise _Unclear(
                f"{coming.year} is the next year with such a day", self._with_day("", coming)
            )
        return coming

    def _same_day(self, clock: tuple[int, int] | None) -> datetime.date:
        """Return the day of the start, for an end that is only a time of day."""
        if clock is None:
            raise _Unclear(_NO_FORM)
        start, text = self._start, self._match[0].strip()
        if start is None:
            raise _Unclear("it has no day", f"today {text}", f"tomorrow {text}")
        begun = start.astimezone(self._zone)
        typed_zone = self._match["offset"] or self._match["zone"]
        if begun.utcoffset() != start.utcoffset() and not typed_zone:
            zones = (time_zones.label(zone or _UTC) for zone in (start.tzinfo, self._zone))
            raise _Unclear("the start has a zone of its own", *(f"{text} {z}" for z in zones))
        if self._at(begun.date(), clock) <= start:
            raise self._not_after_start(_plus(begun.date(), 1))
        return begun.date()

    def _weekday(self, weekday: int, clock: tuple[int, int] | None) -> datetime.date:
        """Return the first date on a weekday, from the start or from today on."""
        today = self._now.date()
        first = self._start.astimezone(self._zone).date() if self._start else today
        day = _plus(first, (weekday - first.weekday()) % 7)
        if self._looking_back:
            raise self._either(_plus(day, -7), day)
        if day == today:
            next_one = _plus(day, 7)
            if clock and self._start is None and self._at(day, clock) < self._now:
                return next_one
            raise self._either(day, next_one)
        if self._start and self._at(day, clock) <= self._start:
            raise self._not_after_start(_plus(day, 7))
        return day

    def _not_after_start(self, next_day: datetime.date) -> _Unclear:
        problem = "on the day of the start that isn't after the start"
        return _Unclear(problem, self._with_day("", next_day))

    def _either(self, *days: datetime.date) -> _Unclear:
        forms = [self._with_day("", day) for day in days]
        return _Unclear(f"that may be {days[0]} or {days[1]}", *forms)


def _in_words(date: datetime.date) -> str:
    """Return a date with the name of its month, such as 1 Dec 2026."""
    return f"{date.day} {MONTHS[date.month - 1][:3].capitalize()} {date.year}"


def _number_of(word: str, names: tuple[str, ...]) -> int:
    return next(n for n, name in enumerate(names) if name.startswith(word.lower()))


def _in_zone(moment: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
    _possible(moment.date())
    return moment.astimezone(zone)


def _plus(day: datetime.date, days: int) -> datetime.date:
    try:
        return _possible(day + datetime.timedelta(days=days))
    except OverflowError:
        raise _Unclear("that is too far off") from None


def _dates(years: range, month: int, number: int) -> list[datetime.date]:
    """Return the dates with this day and month, in those of the years that have the day."""
    dates = []
    for year in years:
        with contextlib.suppress(ValueError):
            dates.append(datetime.date(year, month, number))
    return dates


def _possible(day: datetime.date) -> datetime.date:
    if day.year not in _YEARS:
        raise _Unclear(f"years are from {_YEARS[0]} to {_YEARS[-1]}")
    return day
