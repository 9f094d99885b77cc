"""Works out which moment a user means who has typed a time, or refuses the time.

A refusal says what to write instead.

A phrase must never be taken for a time that the user doesn't mean. So a phrase is refused if a part
of it isn't understood, if it could mean different times, or if clocks skip the time that it names.
"""

import calendar
import datetime
import difflib
import re

from warre_blazar.cli import time_phrases, time_zones
from warre_blazar.cli.failure import Failure
from warre_blazar.cli.time_phrases import Clock, Phrase, Unclear

#: The years that a time may be in. Some time zones or programs can't represent other years.
_YEARS = range(1970, 9999)
#: A number of days. If a date without a year lies at most this many days in the past, it is
#: refused. It isn't taken for a date of the next year.
_LATELY = 31
_ISO = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d|\d{8}|\d{4}-?W\d\d-?\d)"
    r"(?:(?:T(?P<hour>\d\d)|[T ](?P<clock>\d\d:?\d\d(?::?\d\d(?:[.,]\d+)?)?))"
    r"\s?(?P<offset>Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.IGNORECASE | re.ASCII,
)
_DAY = datetime.timedelta(days=1)
_UTC = datetime.UTC


class NotUnderstood(Failure):
    """A phrase isn't understood.

    :ivar forms: similar phrases that would be understood.
    """

    def __init__(self, text: str, problem: str, forms: list[str]) -> None:
        self.forms = forms
        *most, last = [form if " " not in form else f"'{form}'" for form in forms]
        instead = f"{', '.join(most)} or {last}" if most else last
        super().__init__(f"Time {text!r} refused: {problem}. Write {instead}")


def is_exact(text: str) -> bool:
    """Whether a time is ISO 8601 with an offset from UTC, so that it can't be misunderstood."""
    match = _ISO.fullmatch(text.strip())
    return bool(match and match["offset"])


def parse(text: str, where: datetime.tzinfo, now: datetime.datetime) -> datetime.datetime:
    """Return the moment that a phrase means, as a datetime with a time zone, in whole minutes.

    A day without a time of day means its first minute. Seconds are dropped.

    :param where: the time zone to use if the phrase doesn't name a zone. The result is in the zone
        that the phrase names, or else in this zone.
    :raises NotUnderstood: the phrase means no time, or could mean different times.
    """
    text = " ".join(text.split())
    try:
        return _understand(text, where, now)
    except Unclear as error:
        forms = _understood([*error.forms, *_corrections(text)], where, now)
        forms = forms or _understood(_examples(where, now), where, now)
        raise NotUnderstood(text, error.problem, forms[:3]) from None


def _understand(text: str, where: datetime.tzinfo, now: datetime.datetime) -> datetime.datetime:
    if not text:
        raise Unclear("there is nothing in it")
    match = _ISO.fullmatch(text)
    phrase = _phrase_of_iso(match) if match else time_phrases.read(text)
    return _Reading(text, phrase, where, now).moment()


def _phrase_of_iso(match: re.Match[str]) -> Phrase:
    """Return the parts of a time in ISO 8601."""
    digits = match["date"].replace("-", "")
    try:
        # Python refuses a week date that has only one hyphen, such as 2026-W011.
        day = datetime.date.fromisoformat(match["date"].upper())
        date = (day.year, day.month, day.day)
    except ValueError:
        if "W" in digits.upper():
            raise Unclear(f"there is no week or day {match['date']}") from None
        date = (int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    clock = None
    if clock_text := match["hour"] or match["clock"]:
        numbers = clock_text.replace(":", "")
        hour, minute = int(numbers[:2]), int(numbers[2:4] or 0)
        if minute > 59 or hour > 24 or (hour == 24 and minute) or int(numbers[4:6] or 0) > 59:
            raise Unclear(f"a day has no {clock_text}")
        clock = Clock(hour, minute)
    return Phrase(date=date, clock=clock, zone=match["offset"])


def _understood(forms: list[str], where: datetime.tzinfo, now: datetime.datetime) -> list[str]:
    """Return the phrases that are understood. Of phrases that mean the same time, keep one."""
    by_moment: dict[datetime.datetime, str] = {}
    for form in forms:
        try:
            by_moment.setdefault(_understand(" ".join(form.split()), where, now), form)
        except Unclear:
            continue
    return list(by_moment.values())


def _corrections(text: str) -> list[str]:
    """Return corrected phrases. In each, one word is replaced by a known, similar word."""
    words = text.split()
    corrected = []
    for place, word in enumerate(words):
        if not re.fullmatch(r"[a-z]{3,}", word, re.IGNORECASE):
            continue
        similar = difflib.get_close_matches(word.lower(), time_phrases.VOCABULARY, 2, 0.7)
        corrected += [" ".join([*words[:place], other, *words[place + 1 :]]) for other in similar]
    return corrected


def _examples(where: datetime.tzinfo, now: datetime.datetime) -> list[str]:
    tomorrow = now.astimezone(where).date() + _DAY
    return [f"{tomorrow}T09:00", f"{tomorrow:%a} 9:00".lower(), "tomorrow 14:00", "in 2 hours"]


class _Reading:
    """Works out which moment a phrase means, for a given time zone and a given present time."""

    def __init__(
        self, text: str, phrase: Phrase, where: datetime.tzinfo, now: datetime.datetime
    ) -> None:
        self._text = text
        self._phrase = phrase
        #: An abbreviation such as CET, with which the phrase ends. The phrase is refused if the
        #: command's time zone doesn't use this abbreviation at the time that the phrase means.
        self._abbreviation: str | None = None
        self._zone = where
        if phrase.zone is not None:
            if re.fullmatch(r"[a-z]{2,5}", phrase.zone, re.IGNORECASE) and not time_zones.is_utc(
                phrase.zone
            ):
                self._abbreviation = phrase.zone.upper()
            else:
                self._zone = self._named(phrase.zone)
        self._now = now.astimezone(self._zone).replace(second=0, microsecond=0)

    def _named(self, zone: str) -> datetime.tzinfo:
        try:
            return time_zones.named(zone)
        except time_zones.NoZone as error:
            without = self._text[: -len(zone)].rstrip()
            raise Unclear(error.problem, f"{without} UTC") from None

    def moment(self) -> datetime.datetime:
        """Return the moment.

        :raises Unclear: the phrase means no moment, or could mean several moments.
        """
        phrase = self._phrase
        if phrase.later is not None or phrase.days_on is not None:
            return self._from_now()
        clock = phrase.clock
        if clock and clock.midnight:
            clock = self._midnight()
        day = self._day(clock)
        if clock is None:
            return self._first_minute(day)
        return self._at(day, clock)

    def _from_now(self) -> datetime.datetime:
        phrase = self._phrase
        if phrase.date or phrase.weekday or phrase.days is not None:
            raise Unclear("it has both a day and a length of time from now")
        if phrase.later is not None and phrase.clock:
            raise Unclear("it has both a time of day and a length of time from now")
        if phrase.later is not None and self._abbreviation:
            raise self._other_zone()
        moment = self._now
        if phrase.days_on is not None:
            day = _plus(self._now.date(), phrase.days_on)
            clock = phrase.clock or Clock(self._now.hour, self._now.minute)
            if clock.midnight:
                raise Unclear("midnight of a day is its first or last minute")
            moment = self._at(day, clock)
        later = moment.astimezone(_UTC) + (phrase.later or datetime.timedelta())
        return later.astimezone(self._zone)

    def _midnight(self) -> Clock:
        """Return the midnight that the word "midnight" means.

        Without a day, the word means the next midnight. With a day, it could mean the start or the
        end of the day, and is refused.
        """
        phrase = self._phrase
        if phrase.date or phrase.weekday or phrase.days is not None:
            forms = [re.sub("midnight", c, self._text, flags=re.I) for c in ("00:00", "24:00")]
            raise Unclear("midnight of a day is its first or last minute", *forms)
        return Clock(24)

    # --- the day

    def _day(self, clock: Clock | None) -> datetime.date:
        phrase = self._phrase
        if phrase.date and phrase.days is not None:
            raise Unclear("it names two days")
        if phrase.date:
            try:
                day = self._dated(*phrase.date)
            except Unclear as error:
                forms = [self._with_rest(form, clock) for form in error.forms]
                raise Unclear(error.problem, *forms) from None
        elif phrase.days is not None:
            day = _plus(self._now.date(), phrase.days)
        elif phrase.weekday:
            return self._next_weekday(*phrase.weekday, clock)
        elif clock is None:
            raise Unclear("it has neither a day nor a time of day")
        else:
            return self._today(clock)
        if phrase.weekday and phrase.weekday[0] != day.weekday():
            is_a = f"{day} is a {time_phrases.WEEKDAYS[day.weekday()].capitalize()}"
            other = time_phrases.WEEKDAYS[phrase.weekday[0]].capitalize()
            raise Unclear(f"{is_a}, not a {other}", self._with_rest(day, clock))
        return day

    def _with_rest(self, day: datetime.date | str, clock: Clock | None) -> str:
        """Return a phrase with this day, this time of day and the zone that the user has typed."""
        at = f" {clock.hour:02}:{clock.minute:02}" if clock else ""
        zone = f" {self._phrase.zone}" if self._phrase.zone else ""
        return f"{day}{at}{zone}"

    def _dated(self, year: int | None, month: int, day: int) -> datetime.date:
        if year is not None:
            return _date(year, month, day)
        today = self._now.date()
        for candidate in (today.year, today.year + 1):
            try:
                date = _date(candidate, month, day)
            except Unclear:
                if (month, day) != (2, 29):
                    raise
                continue
            if date >= today:
                return date
            if (today - date).days <= _LATELY:
                raise Unclear(
                    f"it has no year, and {date} has passed",
                    str(_date(today.year + 1, month, day)),
                )
        raise Unclear(
            f"neither {today.year} nor {today.year + 1} has a February 29 that is still to come"
        )

    def _next_weekday(self, weekday: int, which: str, clock: Clock | None) -> datetime.date:
        """Return the next date that is on a given weekday.

        :raises Unclear: some people would mean another day by the phrase.
        """
        today = self._now.date()
        coming = _plus(today, (weekday - today.weekday()) % 7)
        if coming == today:
            passed = clock is not None and self._at(today, clock) < self._now
            if which or not passed:
                raise self._either(today, _plus(today, 7), clock)
            return _plus(today, 7)
        if which == "next":
            # "next Friday" may mean the coming Friday, or the Friday of the next week. The week
            # begins on Monday for some people, and on Sunday for others.
            monday = _plus(today, 7 - today.weekday())
            sunday = _plus(today, 7 - (today.weekday() + 1) % 7)
            others = {_plus(monday, weekday), _plus(sunday, (weekday + 1) % 7)} - {coming}
            if others:
                raise self._either(coming, min(others), clock)
        return coming

    def _either(self, one: datetime.date, other: datetime.date, clock: Clock | None) -> Unclear:
        forms = [self._with_rest(day, clock) for day in (one, other)]
        return Unclear(f"that may be {one:%A} {one} or {other}", *forms)

    def _today(self, clock: Clock) -> datetime.date:
        today = self._now.date()
        if self._at(today, clock) < self._now:
            raise Unclear("that has passed today", f"tomorrow {self._text}")
        return today

    # --- the time of that day

    def _first_minute(self, day: datetime.date) -> datetime.datetime:
        """Return the first minute of a day. This is midnight, unless clocks skip midnight."""
        early = datetime.datetime.combine(day, datetime.time(), self._zone)
        if self._abbreviation and early.tzname() != self._abbreviation:
            raise self._other_zone()
        return early.astimezone(_UTC).astimezone(self._zone)

    def _at(self, day: datetime.date, clock: Clock) -> datetime.datetime:
        """Return the moment at which clocks show this day and time.

        :raises Unclear: clocks never show this time, or show it twice.
        """
        if clock.hour == 24:
            day, clock = _plus(day, 1), Clock(0)
        shown = datetime.datetime.combine(day, datetime.time(clock.hour, clock.minute))
        folds = [shown.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1)]
        by_utc = {moment.astimezone(_UTC): moment for moment in folds}
        real = [
            moment
            for utc, moment in by_utc.items()
            if utc.astimezone(self._zone).replace(tzinfo=None) == shown
        ]
        if not real:
            raise self._skipped(shown, sorted(by_utc))
        if self._abbreviation:
            real = [moment for moment in real if moment.tzname() == self._abbreviation]
            if not real:
                raise self._other_zone()
        if len(real) > 1:
            forms = [moment.isoformat(timespec="minutes") for moment in real]
            raise Unclear(
                f"clocks in {time_zones.label(self._zone)} show {shown:%Y-%m-%d %H:%M} twice",
                *forms,
            )
        return real[0]

    def _skipped(self, shown: datetime.datetime, around: list[datetime.datetime]) -> Unclear:
        forms = [
            utc.astimezone(self._zone).isoformat(timespec="minutes").replace("T", " ")
            for utc in around
        ]
        return Unclear(
            f"clocks in {time_zones.label(self._zone)} skip {shown:%Y-%m-%d %H:%M}",
            *(form.replace(" ", "T") for form in forms),
        )

    def _other_zone(self) -> Unclear:
        """Return the error for an abbreviation that the command's time zone doesn't use.

        For instance, Europe/Berlin doesn't use CEST in winter.
        """
        name = self._abbreviation or ""
        others = time_zones.alternatives(name)
        bare = re.sub(rf"\s*{re.escape(name)}$", "", self._text, flags=re.I)
        problem = "may be several time zones" if others else "isn't a time zone"
        return Unclear(f"{name} {problem}", *(f"{bare} {other}" for other in others or ("UTC",)))


def _plus(day: datetime.date, days: int) -> datetime.date:
    try:
        moved = day + days * _DAY
    except OverflowError:
        raise Unclear("that is too far off") from None
    return _date(moved.year, moved.month, moved.day)


def _date(year: int, month: int, day: int) -> datetime.date:
    """Return a date.

    :raises Unclear: the calendar doesn't have this day.
    """
    if year not in _YEARS:
        raise Unclear(f"years are from {_YEARS[0]} to {_YEARS[-1]}")
    if not 1 <= month <= 12:
        raise Unclear(f"there is no month {month}")
    try:
        return datetime.date(year, month, day)
    except ValueError:
        last = calendar.monthrange(year, month)[1]
        problem = f"{time_phrases.MONTHS[month - 1].capitalize()} {year} has no day {day}"
        raise Unclear(problem, f"{year}-{month:02}-{last}") from None
