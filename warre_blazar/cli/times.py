"""Times that users give: from a phrase to a moment, or a refusal that says what to write.

No phrase means another time than the one that was meant: what isn't understood whole, could be
several times, or names a time that clocks skip is refused.
"""

import calendar
import datetime
import difflib
import re

from warre_blazar.cli import phrases, zones
from warre_blazar.cli.failures import Failure
from warre_blazar.cli.phrases import Clock, Phrase, Unclear

#: Years that every zone and every program involved can hold.
_YEARS = range(1970, 9999)
#: A day without a year that was so many days ago isn't next year's without asking.
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
    """A phrase that stands for no time.

    :ivar forms: phrases near to it that do.
    """

    def __init__(self, text: str, problem: str, forms: list[str]) -> None:
        self.forms = forms
        *most, last = [form if " " not in form else f"'{form}'" for form in forms]
        instead = f"{', '.join(most)} or {last}" if most else last
        super().__init__(f"Time {text!r} refused: {problem}. Write {instead}")


def is_exact(text: str) -> bool:
    """Whether it is ISO 8601 with an offset from UTC: there is nothing to understand."""
    found = _ISO.fullmatch(text.strip())
    return bool(found and found["offset"])


def parse(text: str, where: datetime.tzinfo, now: datetime.datetime) -> datetime.datetime:
    """The moment that a phrase means, aware and in whole minutes.

    A day without a time of day is its first minute. Seconds are dropped.

    :param where: the zone if the phrase names none; the result is in the one or the other.
    :raises NotUnderstood: the phrase stands for no time, or for several.
    """
    text = " ".join(text.split())
    try:
        return _understand(text, where, now)
    except Unclear as error:
        working = _working([*error.forms, *_corrections(text)], where, now)
        forms = working or _working(_examples(where, now), where, now)
        raise NotUnderstood(text, error.problem, forms[:3]) from None


def _understand(text: str, where: datetime.tzinfo, now: datetime.datetime) -> datetime.datetime:
    if not text:
        raise Unclear("there is nothing in it")
    found = _ISO.fullmatch(text)
    phrase = _of_iso(found) if found else phrases.read(text)
    return _Reading(text, phrase, where, now).moment()


def _of_iso(found: re.Match[str]) -> Phrase:
    digits = found["date"].replace("-", "")
    try:
        # Weeks are of one form, with all their hyphens or none of them.
        day = datetime.date.fromisoformat(found["date"].upper())
        date = (day.year, day.month, day.day)
    except ValueError:
        if "W" in digits.upper():
            raise Unclear(f"there is no week or day {found['date']}") from None
        date = (int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    clock = None
    if given := found["hour"] or found["clock"]:
        numbers = given.replace(":", "")
        hour, minute = int(numbers[:2]), int(numbers[2:4] or 0)
        if minute > 59 or hour > 24 or (hour == 24 and minute) or int(numbers[4:6] or 0) > 59:
            raise Unclear(f"a day has no {given}")
        clock = Clock(hour, minute)
    return Phrase(date=date, clock=clock, zone=found["offset"])


def _working(forms: list[str], where: datetime.tzinfo, now: datetime.datetime) -> list[str]:
    """Those that are understood, each time once."""
    found: dict[datetime.datetime, str] = {}
    for form in forms:
        try:
            found.setdefault(_understand(" ".join(form.split()), where, now), form)
        except Unclear:
            continue
    return list(found.values())


def _corrections(text: str) -> list[str]:
    """The phrase with each word in turn replaced by one that is spelled alike, or left out."""
    words = text.split()
    found = []
    for place, word in enumerate(words):
        if not re.fullmatch(r"[a-z]{3,}", word, re.IGNORECASE):
            continue
        near = difflib.get_close_matches(word.lower(), phrases.VOCABULARY, 2, 0.7)
        found += [" ".join([*words[:place], other, *words[place + 1 :]]) for other in near]
    return found


def _examples(where: datetime.tzinfo, now: datetime.datetime) -> list[str]:
    tomorrow = now.astimezone(where).date() + _DAY
    return [f"{tomorrow}T09:00", f"{tomorrow:%a} 9:00".lower(), "tomorrow 14:00", "in 2 hours"]


class _Reading:
    """What a phrase means in a zone, at a time."""

    def __init__(
        self, text: str, phrase: Phrase, where: datetime.tzinfo, now: datetime.datetime
    ) -> None:
        self._text = text
        self._phrase = phrase
        #: Such as CET: it is honored where it is what the zone's own clocks say then.
        self._abbreviation: str | None = None
        self._zone = where
        if phrase.zone is not None:
            if re.fullmatch(r"[a-z]{2,5}", phrase.zone, re.IGNORECASE) and not zones.is_utc(
                phrase.zone
            ):
                self._abbreviation = phrase.zone.upper()
            else:
                self._zone = self._named(phrase.zone)
        self._now = now.astimezone(self._zone).replace(second=0, microsecond=0)

    def _named(self, zone: str) -> datetime.tzinfo:
        try:
            return zones.named(zone)
        except zones.NoZone as error:
            without = self._text[: -len(zone)].rstrip()
            raise Unclear(error.problem, f"{without} UTC") from None

    def moment(self) -> datetime.datetime:
        """
        :raises Unclear: there is none, or there are several.
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
            raise Unclear("it has a day and a length from now on")
        if phrase.later is not None and phrase.clock:
            raise Unclear("it has a time of day and a length from now on")
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
        """The word alone is the one to come; beside a day it could be either end of it."""
        phrase = self._phrase
        if phrase.date or phrase.weekday or phrase.days is not None:
            forms = [re.sub("midnight", c, self._text, flags=re.I) for c in ("00:00", "24:00")]
            raise Unclear("midnight of a day is its first or last minute", *forms)
        return Clock(24)

    # --- the day

    def _day(self, clock: Clock | None) -> datetime.date:
        phrase = self._phrase
        if phrase.date and phrase.days is not None:
            raise Unclear("it has two days")
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
            is_a = f"{day} is a {phrases.WEEKDAYS[day.weekday()].capitalize()}"
            other = phrases.WEEKDAYS[phrase.weekday[0]].capitalize()
            raise Unclear(f"{is_a}, not a {other}", self._with_rest(day, clock))
        return day

    def _with_rest(self, day: datetime.date | str, clock: Clock | None) -> str:
        """The phrase with another day."""
        at = f" {clock.hour:02}:{clock.minute:02}" if clock else ""
        zone = f" {self._phrase.zone}" if self._phrase.zone else ""
        return f"{day}{at}{zone}"

    def _dated(self, year: int | None, month: int, day: int) -> datetime.date:
        if year is not None:
            return _date(year, month, day)
        today = self._now.date()
        for candidate in (today.year, today.year + 1):
            try:
                found = _date(candidate, month, day)
            except Unclear:
                if (month, day) != (2, 29):
                    raise
                continue
            if found >= today:
                return found
            if (today - found).days <= _LATELY:
                raise Unclear(
                    f"{found} has passed, and it has no year",
                    str(_date(today.year + 1, month, day)),
                )
        raise Unclear(f"there is no February 29 in {today.year} or {today.year + 1} to come")

    def _next_weekday(self, weekday: int, which: str, clock: Clock | None) -> datetime.date:
        """The next such day, where people agree which one that is."""
        today = self._now.date()
        coming = _plus(today, (weekday - today.weekday()) % 7)
        if coming == today:
            passed = clock is not None and self._at(today, clock) < self._now
            if which or not passed:
                raise self._either(today, _plus(today, 7), clock)
            return _plus(today, 7)
        if which == "next":
            # Of the next week, which begins on Monday or on Sunday, or just the one to come.
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
        """Midnight, or when clocks that skip it or have it twice first show that day."""
        early = datetime.datetime.combine(day, datetime.time(), self._zone)
        if self._abbreviation and early.tzname() != self._abbreviation:
            raise self._other_zone()
        return early.astimezone(_UTC).astimezone(self._zone)

    def _at(self, day: datetime.date, clock: Clock) -> datetime.datetime:
        """The moment at which clocks show that.

        :raises Unclear: they never do, or twice.
        """
        if clock.hour == 24:
            day, clock = _plus(day, 1), Clock(0)
        shown = datetime.datetime.combine(day, datetime.time(clock.hour, clock.minute))
        folds = [shown.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1)]
        there = {moment.astimezone(_UTC): moment for moment in folds}
        real = [
            moment
            for utc, moment in there.items()
            if utc.astimezone(self._zone).replace(tzinfo=None) == shown
        ]
        if not real:
            raise self._skipped(shown, sorted(there))
        if self._abbreviation:
            real = [moment for moment in real if moment.tzname() == self._abbreviation]
            if not real:
                raise self._other_zone()
        if len(real) > 1:
            forms = [moment.isoformat(timespec="minutes") for moment in real]
            raise Unclear(
                f"clocks in {zones.label(self._zone)} show {shown:%Y-%m-%d %H:%M} twice", *forms
            )
        return real[0]

    def _skipped(self, shown: datetime.datetime, around: list[datetime.datetime]) -> Unclear:
        forms = [
            utc.astimezone(self._zone).isoformat(timespec="minutes").replace("T", " ")
            for utc in around
        ]
        return Unclear(
            f"clocks in {zones.label(self._zone)} skip {shown:%Y-%m-%d %H:%M}",
            *(form.replace(" ", "T") for form in forms),
        )

    def _other_zone(self) -> Unclear:
        """What to say of an abbreviation that isn't what the zone's own clocks say then."""
        name = self._abbreviation or ""
        others = zones.alternatives(name)
        bare = re.sub(rf"\s*{re.escape(name)}$", "", self._text, flags=re.I)
        problem = "may be several time zones" if others else "isn't a time zone"
        return Unclear(f"{name} {problem}", *(f"{bare} {other}" for other in others or ("UTC",)))


def _plus(day: datetime.date, days: int) -> datetime.date:
    try:
        found = day + days * _DAY
    except OverflowError:
        raise Unclear("that is too far off") from None
    return _date(found.year, found.month, found.day)


def _date(year: int, month: int, day: int) -> datetime.date:
    """A day of the calendar.

    :raises Unclear: the calendar has no such day.
    """
    if year not in _YEARS:
        raise Unclear(f"years are from {_YEARS[0]} to {_YEARS[-1]}")
    if not 1 <= month <= 12:
        raise Unclear(f"there is no month {month}")
    try:
        return datetime.date(year, month, day)
    except ValueError:
        last = calendar.monthrange(year, month)[1]
        problem = f"{phrases.MONTHS[month - 1].capitalize()} {year} has no day {day}"
        raise Unclear(problem, f"{year}-{month:02}-{last}") from None
