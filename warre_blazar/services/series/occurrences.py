"""Books series of reservations for the API, one occurrence after the other, and ends them.

Each occurrence goes through the same decision as any other booking.
"""

import contextlib
import dataclasses
import datetime
from collections.abc import Iterator, Sequence

from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar import texts
from warre_blazar.db import session
from warre_blazar.domain.booking import quota as quota_rules
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.messages.notices import time_text
from warre_blazar.domain.series.series import (
    BookedSeries,
    RefusedOccurrence,
    SeriesStatus,
    SeriesWork,
)
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.openstack.locks import READING
from warre_blazar.services.booking import admission, dry_run, lookup, quotas
from warre_blazar.services.booking.through_manager import reservations
from warre_blazar.services.booking.through_manager.calls import Caller, seen
from warre_blazar.services.series import progress

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class SeriesOutcome:
    """What became of a request to book occurrences, or what would."""

    series: BookedSeries
    #: The times that were asked for.
    spans: Sequence[Span]
    refused: Sequence[RefusedOccurrence]


@dataclasses.dataclass(frozen=True)
class Occurrences:
    """Occurrences that are asked for at once: those of a new series, or further ones."""

    series: BookedSeries
    spans: Sequence[Span]
    conditions: BookingConditions
    #: Whether they were asked for before, but weren't booked.
    again: bool = False

    def request(self, span: Span) -> admission.BookingRequest:
        """The booking of one of them."""
        item, booking = self.series, self.series.booking
        return admission.BookingRequest(
            project_id=item.project_id,
            flavor=booking.flavor,
            count=booking.count,
            span=span,
            now=timeutils.utcnow(),
            conditions=self.conditions,
            affinity=booking.affinity,
            labels=booking.labels,
            before_end=booking.before_end,
            series=SeriesWork(item.id, item.work_id),
            handle=booking.handle,
        )


_NOTHING = Amount()


def foresee(asked: Occurrences) -> SeriesOutcome:
    """What booking the occurrences would do at this moment. Nothing is written.

    Each occurrence is decided by itself, apart from the quota, of which all of them need a part.

    :raises FlavorNotFound, FlavorNotAccessible, FlavorAmbiguous, LimitsNotRegistered,
        ServiceUnavailable: no decision is possible.
    """
    lookup.check_labels(asked.series.booking.labels)
    refused, taken = [], Amount()
    for span in asked.spans:
        request = asked.request(span)
        decision = admission.decide(request)
        error = next(iter(decision.refusals), None)
        if error is None and decision.standing:
            standing = decision.standing
            try:
                quota_rules.check(standing.limits, standing.used + taken, request.amount)
            except exceptions.QuotaExceeded as exceeded:
                error = exceeded
        if error is None:
            taken += request.amount
        else:
            refused.append(RefusedOccurrence(span, error))
    return SeriesOutcome(asked.series, asked.spans, _with_next_starts(asked, refused, taken))


def _with_next_starts(
    asked: Occurrences, refused: Sequence[RefusedOccurrence], taken: Amount = _NOTHING
) -> list[RefusedOccurrence]:
    """Add to each refused occurrence the next start at which it could be booked.

    If the quota has no room for another occurrence, no time helps.

    :param taken: what the occurrences that can be booked take of the quota, beyond its usage.
    """
    if not refused:
        return []
    request = asked.request(refused[0].span)
    try:
        needed = taken + request.amount
        quotas.check(request.conditions.quotas, request.project_id, needed)
        starts = dry_run.next_starts(request, [(each.span, each.error) for each in refused])
    except exceptions.WarreError:
        return list(refused)
    return [
        dataclasses.replace(each, next_start=start)
        for each, start in zip(refused, starts, strict=True)
    ]


def create(caller: Caller, asked: Occurrences) -> SeriesOutcome:
    """Book a new series.

    :param asked: all occurrences of the series. Its flavor may be a name.
    :raises SeriesRefused: no occurrence can be booked, or not all of them although all or none was
        asked for. Nothing was booked, or a manager soon deletes the rest.
    :raises SeriesEnded: somebody has ended the series meanwhile.
    :raises WarreError: another error. In that case nothing is booked.
    """
    lookup.check_labels(asked.series.booking.labels)
    flavor, _ = admission.flavor_and_refusals(asked.request(asked.spans[0]))
    booking = dataclasses.replace(asked.series.booking, flavor=flavor.id)
    asked = dataclasses.replace(asked, series=dataclasses.replace(asked.series, booking=booking))
    _check_all(asked)
    return _book(
        caller, dataclasses.replace(asked, series=progress.begin(asked.series, asked.spans))
    )


def extend(caller: Caller, asked: Occurrences, work_id: str) -> SeriesOutcome:
    """Book further occurrences of a series, or those that couldn't be booked before.

    :param work_id: identifies the request.
    :raises InvalidState: another request is working on the series, or it was ended.
    :raises WarreError: as for ``create``.
    """
    _check_all(asked)
    begun = progress.begin_extension(asked.series, () if asked.again else asked.spans, work_id)
    return _book(caller, dataclasses.replace(asked, series=begun))


def _check_all(asked: Occurrences) -> None:
    """Refuse beforehand what can't be booked as a whole, if it is all or none."""
    if not asked.series.all_or_none:
        return
    with READING.held("reading"):
        refused = foresee(asked).refused
    if refused:
        raise _error(asked, refused)


def _book(caller: Caller, asked: Occurrences) -> SeriesOutcome:
    """
    :raises NoAnswer: the database has failed on the way. A manager goes on with the series.
    """
    with _known(asked.series):
        return _book_each(caller, asked)


@contextlib.contextmanager
def _known(item: BookedSeries) -> Iterator[None]:
    """Say that nobody knows what became of a request on whose way the database has failed."""
    try:
        yield
    except session.FAILURES as error:
        raise _no_answer(item) from error


def _no_answer(item: BookedSeries) -> exceptions.NoAnswer:
    return exceptions.NoAnswer("", texts.services.OF_SERIES(series=item.id))


def _book_each(caller: Caller, asked: Occurrences) -> SeriesOutcome:
    item, booked = asked.series, 0
    refused: list[RefusedOccurrence] = []
    for span in asked.spans:
        item = progress.tries(item)
        request = asked.request(span)
        try:
            _book_one(caller, request)
        except exceptions.WarreError as error:
            if error.code == exceptions.SeriesEnded.code:
                raise exceptions.SeriesEnded(item.id) from error
            if isinstance(error, exceptions.ServiceUnavailable) and not booked:
                _undo(caller, item)
                raise
            refused.append(RefusedOccurrence(span, error))
            progress.refused(item, span, error)
            if item.all_or_none:
                break
        else:
            booked += 1
    if refused:
        with READING.held("reading"):
            refused = _with_next_starts(asked, refused)
    if refused and (item.all_or_none or not booked):
        _undo(caller, item)
        raise _error(asked, refused)
    return SeriesOutcome(_finished(item), asked.spans, refused)


def _book_one(caller: Caller, request: admission.BookingRequest) -> None:
    """Book an occurrence.

    :raises NoAnswer: the manager was silent, and its reservation is still being made. It may come
        to nothing.
    """
    made, _ = reservations.create(caller, request)
    if made.state != reservation_states.PENDING_CREATE:
        return
    found = reservations.find(made.lease_id)
    if found is None or found[0].state == reservation_states.PENDING_CREATE:
        raise exceptions.NoAnswer(made.lease_name, texts.services.BOOKED(reservation=made.id))


def _finished(item: BookedSeries) -> BookedSeries:
    """The series with what was booked, also if the database fails after it has written that."""
    try:
        return progress.finish(item)
    except session.FAILURES:
        found = seen(lambda: progress.find(item.id), _no_answer(item))
        if found and (found.status, found.work_id) == (SeriesStatus.BOOKED, item.work_id):
            return found
        raise


def _error(asked: Occurrences, refused: Sequence[RefusedOccurrence]) -> exceptions.SeriesRefused:
    return exceptions.SeriesRefused([document(each) for each in refused], len(asked.spans))


def document(item: RefusedOccurrence) -> dict[str, object]:
    """An occurrence that can't be booked, in JSON."""
    return {
        "start": time_text(item.span.start),
        "end": time_text(item.span.end),
        **item.error.document,
        "next_start": item.next_start and time_text(item.next_start),
    }


def _undo(caller: Caller, item: BookedSeries) -> None:
    """Delete what a request has booked. What can't be deleted now is left to the managers."""
    if undone := progress.undo(item):
        _clear(caller, undone)


def end(caller: Caller, series_id: str, *, running: bool) -> bool:
    """Delete the reservations of a series that haven't begun. It can't be extended afterwards.

    :param running: whether to delete the running ones too.
    :returns: True: they are deleted. False: a manager deletes the rest of them.
    :raises SeriesNotFound:
    :raises NoAnswer: the database has failed on the way. A manager deletes the rest, if the end was
        written.
    """
    with _known(progress.get(series_id)):
        return _clear(caller, progress.end(series_id, caller.user_id, running=running))


def _clear(caller: Caller, item: BookedSeries) -> bool:
    """Delete what an UNDOING or an ENDING has to delete.

    :returns: whether all of it is deleted.
    """
    for reservation in progress.left_to_delete(item):
        if not progress.touch(item):
            return False
        if _still_to_delete(item, reservation):
            try:
                reservations.delete(caller, reservation)
            except exceptions.WarreError as error:
                LOG.info("Reservation %s can't be deleted yet: %s", reservation.id, error.message)
    return progress.close(item)


def _still_to_delete(item: BookedSeries, reservation: Reservation) -> bool:
    """Whether a reservation hasn't begun since it was read, unless running ones go too."""
    if item.status is SeriesStatus.UNDOING or item.ends_running:
        return True
    return any(each.id == reservation.id for each in progress.left_to_delete(item))


def next_spans(
    item: BookedSeries, most: int, more: int | None, until: datetime.datetime | None
) -> list[Span]:
    """The times of the next occurrences of a series.

    :param most: the largest number of occurrences that a series may have.
    :param more: how many further occurrences are asked for.
    :param until: the last local time at which one may start, if ``more`` is None.
    :raises InvalidField: there are none, or too many.
    """
    planned = progress.plan(item)
    if more is not None and len(planned) + more > most:
        raise exceptions.InvalidField("more", texts.expected.MORE_OCCURRENCES(most=most))
    recurrence = item.recurrence
    wanted = most if more is None else len(planned) + more + len(recurrence.exdates)
    found = recurrence.occurrences(wanted, until, endless=True)
    spans = [each for each in found if not planned or each.start > planned[-1].span.start][:more]
    if not spans or (more is not None and len(spans) < more):
        field = "until" if more is None else "more"
        raise exceptions.InvalidField(field, texts.expected.LEFT_OCCURRENCES())
    return spans


def missing_spans(item: BookedSeries) -> list[Span]:
    """The times of the occurrences of a series that weren't booked, and haven't begun.

    :raises InvalidField: there are none.
    """
    now = timeutils.utcnow()
    spans = [each.span for each in progress.plan(item) if each.is_missing and each.span.start > now]
    if not spans:
        raise exceptions.InvalidField("missing", texts.expected.MISSING_OCCURRENCES())
    return spans
