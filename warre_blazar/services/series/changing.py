"""Changes series: the reservations that haven't begun, and what further ones get."""

import dataclasses
import datetime
from collections.abc import Sequence

from warre_blazar import texts
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.series.series import BookedSeries, RefusedOccurrence
from warre_blazar.errors import exceptions
from warre_blazar.services.booking.through_manager import change
from warre_blazar.services.booking.through_manager.calls import Caller
from warre_blazar.services.booking.through_manager.change import ChangeRequest
from warre_blazar.services.series import progress
from warre_blazar.services.series.occurrences import SeriesOutcome, document


@dataclasses.dataclass(frozen=True)
class SeriesChange:
    """The new values of a series."""

    #: Those that reservations have too, without times.
    of_each: ChangeRequest
    #: How long each reservation is from now on. None: the length stays as it is.
    length: datetime.timedelta | None = None

    def request(self, reservation: Reservation) -> ChangeRequest:
        """The change of one reservation."""
        if self.length is None:
            return self.of_each
        return dataclasses.replace(self.of_each, end=reservation.span.start + self.length)

    def of(self, item: BookedSeries) -> BookedSeries:
        """The series with the new values."""
        new, booking, recurrence = self.of_each, item.booking, item.recurrence
        return dataclasses.replace(
            item,
            booking=dataclasses.replace(
                booking,
                count=new.count or booking.count,
                labels=dataclasses.replace(booking.labels, **new.labels or {}),
                before_end=new.before_end.value if new.before_end else booking.before_end,
            ),
            recurrence=dataclasses.replace(recurrence, length=self.length or recurrence.length),
        )


def foresee(
    item: BookedSeries, flavor: Flavor, wanted: SeriesChange, conditions: BookingConditions
) -> SeriesOutcome:
    """What ``change_rest`` would do at this moment. Nothing is written."""
    rest, refused = _rest(item), []
    spans = [wanted.request(each).of(each).span for each in rest]
    for each, span in zip(rest, spans, strict=True):
        foreseen = change.foresee(each, flavor, wanted.request(each), conditions)
        refused += [RefusedOccurrence(span, error) for error in foreseen.refusals[:1]]
    return SeriesOutcome(item, spans, refused)


def change_rest(
    caller: Caller, item: BookedSeries, wanted: SeriesChange, conditions: BookingConditions
) -> SeriesOutcome:
    """Change the reservations of a series that haven't begun, one after the other.

    Further reservations of the series get the new values too.

    :returns: what the reservations that couldn't be changed should have become.
    :raises InvalidState: another request is working on the series, or it was ended.
    :raises SeriesRefused: no reservation can be changed. Nothing has changed.
    """
    item = progress.change(item)
    rest = _rest(item)
    refused: list[RefusedOccurrence] = []
    for each in rest:
        request = wanted.request(each)
        try:
            change.change(caller, each, request, conditions)
        except exceptions.WarreError as error:
            refused.append(RefusedOccurrence(request.of(each).span, error))
    if rest and len(refused) == len(rest):
        documents = [document(each) for each in refused]
        raise exceptions.SeriesRefused(documents, len(rest), texts.refusals.SERIES_UNCHANGED)
    return SeriesOutcome(progress.change(item, wanted.of(item)), (), refused)


def _rest(item: BookedSeries) -> Sequence[Reservation]:
    """The reservations of a series that haven't begun."""
    found = progress.occurrences(item)
    return [each for each in found if each.state == reservation_states.ALLOCATED]
