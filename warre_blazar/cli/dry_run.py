"""Dry runs: the API says whether it would refuse a booking or a change. Nothing is written."""

import dataclasses
import datetime
from collections.abc import Sequence

from warre_blazar.cli import alternatives, error_advice, project_names, time_display, wording
from warre_blazar.cli.failure import Failure, RefusedDryRun
from warre_blazar.cli.reservation_fields import phrase
from warre_blazar.client import Client, DryRun, Reason, Reservation, errors
from warre_blazar.client.types import Document


def booking(
    client: Client, wanted: alternatives.WantedBooking, app: object, **texts: str | None
) -> DryRun:
    """Ask the API whether it would accept a booking, and return what it says.

    :param texts: the labels of the reservation, and what is done before its end.
    :raises RefusedDryRun: the booking would be refused. The text says why, and what could be
        booked.
    """
    foreseen = _foreseen(client, wanted, **texts)
    others = alternatives.others(wanted, foreseen, app)
    _check(foreseen, app, wanted.where, wanted.project, others)
    return foreseen


def _foreseen(client: Client, wanted: alternatives.WantedBooking, **texts: str | None) -> DryRun:
    """What the API says about a booking, whether or not it would accept it."""
    return client.reservations.try_create(
        wanted.flavor,
        start=wanted.start,
        end=wanted.end,
        count=wanted.count,
        affinity=wanted.affinity,
        project_id=wanted.project_id,
        **texts,
    )


@dataclasses.dataclass(frozen=True)
class Changed:
    """A reservation, and its new start, end and number of instances.

    If ``count`` is None, the number of instances stays as it is.
    """

    before: Reservation
    start: datetime.datetime
    end: datetime.datetime
    count: int | None = None

    @property
    def instance_count(self) -> int:
        """The number of instances after the change."""
        return self.count or self.before.instance_count


def plan(changed: Changed, zone: datetime.tzinfo) -> str:
    """Return a description of a reservation after a change, with the difference in words."""
    before, count = changed.before, changed.instance_count
    present = (before.start, before.end)
    period = time_display.period(changed.start, changed.end, zone, present)
    if count == before.instance_count:
        return f"{phrase(before)}, {period}"
    slots = f"{wording.slots(count)} (before: {before.instance_count})"
    more = count - before.instance_count
    difference = f"{wording.slots(abs(more))} {'more' if more > 0 else 'fewer'}"
    return f"reservation {before.id}, {slots} of {before.flavor.name}, {period}, {difference}"


def change(
    client: Client,
    changed: Changed,
    app: object,
    where: datetime.tzinfo,
    **texts: str | None,
) -> DryRun:
    """Ask the API whether it would accept a change of a reservation, and return what it says.

    :param texts: the new labels, and what is done before the end. None: it stays as it is.
    :raises RefusedDryRun: the change would be refused. The text says why, and what would be
        possible.
    """
    before = changed.before
    # A reservation that has begun keeps its start, even if the times are given in another zone.
    start, end = (
        None if new.astimezone(datetime.UTC) == present else new
        for new, present in ((changed.start, before.start), (changed.end, before.end))
    )
    count = changed.count
    if (start, end, count, *texts.values()) == (None,) * (3 + len(texts)):
        end = changed.end  # The API refuses a change without values.
    foreseen = client.reservations.try_update(before.id, start=start, end=end, count=count, **texts)
    project = project_names.unless_own(client.transport.session, before.project_id)
    _check(foreseen, app, where, project)
    return foreseen


def refused(
    client: Client,
    changed: Changed,
    error: errors.ApiError,
    app: object,
    where: datetime.tzinfo,
) -> str:
    """Return why a change was refused, and in further lines what would be possible instead.

    :param error: the error with which the API refused the change. It has alternatives.
    """
    assert error.alternatives is not None
    project = project_names.unless_own(client.transport.session, changed.before.project_id)
    period = (changed.start, changed.end)
    ways = alternatives.ways(error.alternatives, period, changed.instance_count, where)
    return "\n".join([_told(error, app, project), *ways])


#: The codes of refusals because of the flavor alone: no other booking of it would be accepted.
_OF_FLAVOR = frozenset({"flavor_inactive", "flavor_not_accessible"})


def check_flavor(client: Client, wanted: alternatives.WantedBooking, app: object) -> None:
    """Refuse a booking whose flavor the project can't book at all.

    :raises Failure: the flavor is inactive, or it is private and the project has no access.
    :raises errors.ApiError: there is no such flavor.
    """
    for refusal in _foreseen(client, wanted).refusals:
        if refusal.code in _OF_FLAVOR:
            raise Failure(_text(refusal, app, wanted.project))


def flat(foreseen: DryRun) -> Document:
    """Return the fields of a dry run, with the flavor's name and id in place of the flavor."""
    flavor = foreseen.document["flavor"]
    return {**foreseen.document, "flavor": flavor["name"], "flavor_id": flavor["id"]}


def warned(foreseen: DryRun) -> str:
    """The warnings of a dry run as sentences after its plan, or an empty text."""
    return "".join(f". Warning: {warning.message}" for warning in foreseen.warnings)


def _check(
    foreseen: DryRun,
    app: object,
    where: datetime.tzinfo,
    project: str | None = None,
    others: Sequence[str] = (),
) -> None:
    """
    :param project: the project that the request is about. None: the user's own.
    :param others: further lines for the text of a refusal.
    :raises RefusedDryRun: a rule refuses the request. The text has every such rule, each in a
        line, and then the ways that are open.
    """
    if foreseen.bookable:
        return
    refusals = [_text(refusal, app, project) for refusal in foreseen.refusals]
    period = (foreseen.start, foreseen.end)
    ways = alternatives.ways(foreseen, period, foreseen.instance_count, where)
    raise RefusedDryRun("\n".join([*refusals, *ways, *others]), flat(foreseen))


def _text(refusal: Reason, app: object, project: str | None) -> str:
    """The text of a refusal, with advice."""
    return _told(errors.ApiError(refusal.message, 400, refusal.code, refusal.detail), app, project)


def _told(error: errors.ApiError, app: object, project: str | None) -> str:
    if error.code in alternatives.CODES:
        return alternatives.why(error)
    return error_advice.text(error, app, project)
