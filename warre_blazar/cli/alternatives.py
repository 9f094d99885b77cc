"""Suggests what a user could book instead if a booking is refused."""

import contextlib
import dataclasses
import datetime
import shlex

from warre_blazar.cli import error_advice, time_display, wording
from warre_blazar.cli.command_names import Fields
from warre_blazar.client import Alternatives, DryRun, errors
from warre_blazar.texts import commands as texts

#: Codes of errors after which the same booking may be possible at another time.
CODES = frozenset(
    {"slots_exhausted", "hosts_exhausted", "maintenance", "before_flavor_start", "after_flavor_end"}
)


@dataclasses.dataclass(frozen=True)
class WantedBooking:
    """A booking that the user wants.

    ``flavor`` is an id or a name. ``where`` is the zone in which times are shown.
    """

    flavor: str
    start: datetime.datetime
    end: datetime.datetime
    count: int
    affinity: bool | None
    where: datetime.tzinfo
    #: The project to book for. None: the user's own.
    project_id: str | None = None
    #: The same project, as the user has typed it.
    project: str | None = None

    @property
    def length(self) -> datetime.timedelta:
        """The time that passes from start to end, whether or not clocks are changed in between."""
        return self.end.astimezone(datetime.UTC) - self.start.astimezone(datetime.UTC)

    @property
    def period(self) -> str:
        """A text with the start and the end, in the time zone of the start, and the length."""
        return time_display.period(self.start, self.end, self.start.tzinfo or self.where)


def instead(wanted: WantedBooking, error: errors.ApiError, app: object) -> str:
    """Return a text that says why a booking was refused, and what could be booked.

    :param error: the error with which the API refused the booking.
    :param app: the running CLI. The text uses the names that commands have in this CLI.
    """
    found = error.alternatives
    told = error_advice.text(error, app, wanted.project)
    refusal = why(error) if error.code in CODES else told.rstrip(".")
    elsewhere = [] if found is None else others(wanted, found, app)
    if found is not None:
        open_ways = ways(found, (wanted.start, wanted.end), wanted.count, wanted.where)
        if open_ways:
            return "\n".join([f"{refusal}. {open_ways[0]}", *open_ways[1:], *elsewhere])
    if error.code not in CODES:
        return told
    return "\n".join([f"{refusal}. {_otherwise(wanted, found, app)}", *elsewhere])


def others(wanted: WantedBooking, found: Alternatives | DryRun, app: object) -> list[str]:
    """Return a line about the project's own reservations, and one that names other ways.

    Other ways are the commands to wait with, and to look at other flavors with. A line that doesn't
    apply is left out.

    :param app: the running CLI. The text uses the names that commands have in this CLI.
    """
    lines = []
    if found.own:
        named = [
            {**each, "named": f"{each['name']} ({each['id']})" if each["name"] else each["id"]}
            for each in found.own
        ]
        said = texts.OWN.sentence(
            {"flavor": wanted.flavor, "own": named}, time_display.reader(wanted.where)
        )
        lines.append(said)
    # Offers are for the user's own project.
    if found.wait_start is None or wanted.project_id is not None:
        return lines
    commands = Fields(app)
    category = f" --category {shlex.quote(found.category)}" if found.category else ""
    return [
        *lines,
        f"{commands['reservation-wait-create']} {wanted.flavor} waits for room; "
        f"{commands['reservation-offers']}{category} shows what can be had instead",
    ]


def ways(
    found: Alternatives | DryRun,
    period: tuple[datetime.datetime, datetime.datetime],
    count: int,
    where: datetime.tzinfo,
) -> list[str]:
    """Return sentences that each name a way to get the instances, or some of them.

    :param found: what the API says that could be booked.
    :param period: the wanted start and end.
    :param count: the wanted number of instances.
    """
    texts = []
    start, end = (moment.astimezone(datetime.UTC) for moment in period)
    slots = wording.slots(count)
    if found.next_start is not None and found.next_start != start:
        texts.append(_first_later(count, end - start, found.next_start, where))
    longest = datetime.timedelta(hours=found.longest_hours)
    if datetime.timedelta(0) < longest < end - start:
        until = time_display.argument(start + longest, where)
        texts.append(f"At the wanted start, {slots} can be had until --end {until}")
    if 0 < found.most_instances < count:
        texts.append(f"For all of that time, --count {found.most_instances} can be had")
    return texts


def why(error: errors.ApiError) -> str:
    """Return a clause that says why a booking was refused.

    :param error: the error with which the API refused the booking. Its code is in ``CODES``.
    """
    if error.detail.get("reason") == "offered":
        return str(error)
    asked, slots = error.detail.get("asked"), error.detail.get("slots")
    if asked and slots and asked > slots:
        return f"The flavor has {wording.slots(slots)}, and {asked} were asked for"
    if asked and error.detail.get("free") and error.code in texts.PARTLY_TAKEN:
        are = "is" if error.detail["free"] == 1 else "are"
        with contextlib.suppress(KeyError):
            return texts.PARTLY_TAKEN[error.code].sentence({**error.detail, "are": are})
    taken = texts.TAKEN.get(error.code)
    return taken.sentence({}) if taken else str(error).rstrip(".")


def _otherwise(wanted: WantedBooking, found: Alternatives | None, app: object) -> str:
    """Return a sentence with advice if there is no way to book what is wanted, or a part of it.

    :param found: what the API says that could be booked. None: it doesn't say.
    """
    commands = Fields(app)
    if found is None:
        return f"{commands['flavor-free-slots']} {wanted.flavor} shows when it is free"
    verb = "is" if wanted.count == 1 else "are"
    return (
        f"In the year from then on, {wording.slots(wanted.count)} {verb} never free for "
        f"{_hours(wanted.length)} h. Try fewer slots or hours; "
        f"{commands['flavor-calendar']} {wanted.flavor} shows what is free"
    )


def _first_later(
    count: int, length: datetime.timedelta, start: datetime.datetime, where: datetime.tzinfo
) -> str:
    """Return a sentence with the first start after the wanted one at which a booking fits."""
    verb = "is" if count == 1 else "are"
    return (
        f"After the wanted start, {wording.slots(count)} {verb} first free for {_hours(length)} h "
        f"from {time_display.brief(start, where)} on: --start {time_display.argument(start, where)}"
    )


def _hours(length: datetime.timedelta) -> str:
    return f"{length.total_seconds() / 3600:.2f}".rstrip("0").rstrip(".")
