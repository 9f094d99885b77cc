"""Serves waits: books or tells the first in line for whom there is room.

A manager has the turn of serving, and looks whenever something may have made room, and at least
once a minute. Nothing depends on there being only one such manager: a wait is claimed in the
transaction that books it, and the lease has the wait's id. So a wait can't be booked twice, and
that no more is booked than fits is decided as for any booking.

Nothing that makes room has to report it. Every look computes a few numbers from leases, flavors,
hosts and windows, and compares them with those of the last look. Once a minute everything is looked
at, because room can also appear without a write, as when a gap between two reservations passes.

Nothing is held back for a wait that doesn't fit, and a direct booking doesn't look at the line.
What somebody was told to be free is kept for their project for some minutes
(``domain.booking.offered``). If a manager is killed while it books, the wait is found in BOOKING,
and its lease says what became of it.
"""

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blazar.db import api as db_api
from oslo_log import log as logging
from sqlalchemy.orm import Session

from warre_blazar import texts, times
from warre_blazar.db import flavors, session, turns, waits
from warre_blazar.db.messages import outbox
from warre_blazar.domain import waits as rules
from warre_blazar.domain.booking.booking_rules import BookingConditions
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.messages.notices import Kind, News
from warre_blazar.domain.running import lease_states
from warre_blazar.domain.slots.free_time import FreeTime, Question
from warre_blazar.domain.slots.offers import FlavorOffer
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Mode, Wait, WaitState
from warre_blazar.errors import exceptions
from warre_blazar.services import searches
from warre_blazar.services.booking import admission, lookup
from warre_blazar.services.booking.through_manager import reservations
from warre_blazar.services.booking.through_manager.calls import Caller
from warre_blazar.services.hosts import new_hosts
from warre_blazar.services.slots import offers, supply
from warre_blazar.services.slots.offers import FlavorChoice
from warre_blazar.services.waits import waits as posting

LOG = logging.getLogger(__name__)

_TURN = "waits"
#: Errors after which the user can't book the flavor, however much room there is.
_FINAL = (exceptions.FlavorNotFound, exceptions.FlavorNotAccessible)

#: The code of the error if a lease with the wait's id is there: another manager is creating it, or
#: a manager that was killed has left it, which a repairer removes.
_ID_TAKEN = "conflict"

#: Returns the user of a wait with the roles that they have in the project now.
#: Raises ``NotPermitted`` if they may not book, and ``ServiceUnavailable`` or ``ServiceRefused`` if
#: that can't be found out.
Permit = Callable[[Wait], Caller]


class NotPermitted(Exception):
    """The user of a wait may no longer book for its project.

    :ivar why: the reason.
    """

    def __init__(self, why: texts.Said) -> None:
        super().__init__(why)
        self.why = why


class WaitServer:
    """Looks whether there is room for those who wait."""

    def __init__(
        self, manager_id: str, permit: Permit, conditions: Callable[[], BookingConditions]
    ) -> None:
        """
        :param conditions: returns the conditions of bookings that need no role.
        """
        self._manager_id, self._permit, self._conditions = manager_id, permit, conditions
        self._seen: tuple[Any, ...] | None = None
        self._looked_at: datetime.datetime | None = None
        #: Whether something has moved, so that more may have moved within the same second.
        self._looks_again = False

    def look(self, now: datetime.datetime) -> None:
        """Serve waits if it is this manager's turn, and there may be room that wasn't there."""
        with session.reader() as db:
            if not waits.is_any_open(db):
                return
            seen = waits.what_moves_room(db)
        if not session.change(turns.take, _TURN, self._manager_id):
            self._seen = None
            return
        settle(now)
        has_moved = seen != self._seen
        is_due = self._looked_at is None or now - self._looked_at >= times.ALL_WAITS_EVERY
        if is_due or has_moved or self._looks_again:
            self.serve(now)
            self._seen, self._looked_at, self._looks_again = seen, now, has_moved

    def serve(self, now: datetime.datetime) -> None:
        """Serve everybody for whom there is room, the first in line first."""
        settle(now)
        tried: set[str] = set()
        while (wait := self._next(now, tried)) is not None:
            tried.add(wait.id)
            try:
                if not self._serve(wait, now):
                    return
            except exceptions.ServiceUnavailable as error:
                # If somebody else were served now, the order would depend on who can be asked.
                LOG.warning("No wait can be served now: %s", error)
                return
            except exceptions.WarreError as error:
                LOG.warning("Wait %s can't be served now, and is tried again: %s", wait.id, error)

    def _next(self, now: datetime.datetime, tried: set[str]) -> Wait | None:
        """The first in line for whom there seems to be room."""
        with session.reader() as db:
            line = posting.current_line(db, now)
        waiting = [w for w in line if w.state is WaitState.WAITING and w.id not in tried]
        if not waiting:
            return None
        new_hosts.read()
        conditions = self._conditions()
        with session.reader() as db:
            room = _RoomForWaits(db, waiting, now, conditions)
        return next((wait for wait in waiting if room.seems_to_fit(wait)), None)

    def _serve(self, wait: Wait, now: datetime.datetime) -> bool:
        """Book or tell, if there is room and the user may book.

        :returns: False if another manager serves at this moment.
        :raises ServiceUnavailable: nothing was decided.
        """
        try:
            offer = self._offer(wait, now)
            caller = self._permit(wait) if offer else None
        except NotPermitted as error:
            _end(wait, WaitState.REFUSED, now, str(error))
            return True
        except _FINAL:
            _end(wait, WaitState.REFUSED, now, "Your project can no longer book the flavor")
            return True
        if offer is None or caller is None:
            return True
        if wait.mode is Mode.TELL:
            _tell(wait, offer, self._request(wait, offer, now))
            return True
        return self._book(wait, offer, caller, now)

    def _offer(self, wait: Wait, now: datetime.datetime) -> FlavorOffer | None:
        """What can be booked for a wait now, or None."""
        conditions = self._conditions()
        if wait.flavor_id is not None:
            choice = FlavorChoice(flavor=wait.flavor_id)
        else:
            choice = FlavorChoice(columns={"category": wait.category})
        question = _question(wait, wait.window, now, conditions)
        found = offers.find(question, choice, conditions.quotas).offers
        if wait.mode is Mode.BOOK:
            return next(iter(found), None)
        with session.reader() as db:
            served = waits.served_since(db, now - times.TOLD_FIRST_FOR)
        taken = rules.told_lately(served, now)
        return next((offer for offer in found if offer.flavor.id not in taken), None)

    def _request(
        self, wait: Wait, offer: FlavorOffer, now: datetime.datetime
    ) -> admission.BookingRequest:
        """The booking that was offered to a wait."""
        start = offer.span.start
        return admission.BookingRequest(
            project_id=wait.project_id,
            flavor=offer.flavor.id,
            count=wait.instance_count,
            span=Span(start, start + wait.length),
            now=now,
            conditions=dataclasses.replace(self._conditions(), user_id=wait.user_id),
            affinity=wait.affinity,
            labels=wait.labels,
            before_end=wait.before_end,
        )

    def _book(self, wait: Wait, offer: FlavorOffer, caller: Caller, now: datetime.datetime) -> bool:
        """Book for a wait.

        :returns: the same as ``_serve``.
        """
        request = dataclasses.replace(self._request(wait, offer, now), wait_id=wait.id)
        try:
            # Here, so that a refusal isn't written down as one of the project's requests.
            admission.check(request)
            reservations.create(caller, request, wait.id)
        except exceptions.ServiceUnavailable:
            raise
        except exceptions.WarreError as error:
            LOG.info("Wait %s isn't booked: %s", wait.id, error)
            if error.code == _ID_TAKEN:
                # Whoever is next must not get the room before this wait does.
                return False
            session.change(waits.note_reason, wait, error.message)
        _settle_one(posting.get(wait.id), now)
        return True


class _RoomForWaits:
    """What is free at one moment, without regard to quotas and to what each project has.

    It says for whom it is worth while to look exactly. So the number of statements doesn't depend
    on how many wait.
    """

    def __init__(
        self,
        db: Session,
        waiting: Sequence[Wait],
        now: datetime.datetime,
        conditions: BookingConditions,
    ) -> None:
        self._now, self._conditions = now, conditions
        self._flavors = {flavor.id: flavor for flavor in flavors.every(db)}
        self._categories = {
            key: flavor.texts.get("category") for key, flavor in self._flavors.items()
        }
        hull = Span(
            min(wait.window.start for wait in waiting), max(wait.window.end for wait in waiting)
        )
        question = dataclasses.replace(
            _question(waiting[0], hull, now, conditions), project_id=None
        )
        self._supply = supply.of_flavors(
            db, list(self._flavors.values()), question, question.future
        )
        self._known: dict[tuple[Any, ...], bool] = {}

    @searches.uncollected()
    def seems_to_fit(self, wait: Wait) -> bool:
        """Whether there is room for a wait. If its flavor is gone, this is true too."""
        wanted = wait.takes(self._categories) & self._flavors.keys()
        return not wanted or any(self._fits(self._flavors[each], wait) for each in sorted(wanted))

    def _fits(self, flavor: Flavor, wait: Wait) -> bool:
        question = _question(wait, wait.window, self._now, self._conditions)
        # Projects for which the same hosts match share an answer.
        hosts = id(self._supply.matching(flavor.shape, wait.project_id))
        key = (flavor.id, hosts, question.count, question.least, question.window, question.affinity)
        if key not in self._known:
            if self._supply.vacating:
                self._supply.vacating.renew()
            self._known[key] = bool(FreeTime(flavor, question, self._supply).find().times)
        return self._known[key]


def _question(
    wait: Wait, window: Span, now: datetime.datetime, conditions: BookingConditions
) -> Question:
    return Question(
        flavor="",
        project_id=wait.project_id,
        everything=False,
        count=wait.instance_count,
        window=window,
        now=now,
        cleaning=conditions.cleaning,
        affinity=wait.affinity,
        least=wait.length,
        any_length=wait.project_id in conditions.any_length,
        device_rules=conditions.device_rules,
        moves=conditions.moves,
    )


def settle(now: datetime.datetime) -> None:
    """Note what has become of bookings that were begun, and end the waits that have expired."""
    with session.reader() as db:
        found = waits.every_open(db)
    for wait in found:
        if wait.state is WaitState.BOOKING:
            _settle_one(wait, now)
        elif wait.is_over(now):
            _end(wait, WaitState.EXPIRED, now, wait.status_reason)


def _settle_one(wait: Wait, now: datetime.datetime) -> None:
    """Note what has become of the booking of a wait, if it was begun and is over."""
    if wait.state is not WaitState.BOOKING:
        return
    assert wait.reservation_id is not None
    lease = db_api.lease_get(wait.id)
    if lease is not None and lease["status"] == lease_states.CREATING:
        return  # A manager works on it, or the repairer will remove it and let the wait go on.
    try:
        reservation, flavor = lookup.get(wait.reservation_id, None, deleted=True)
    except exceptions.ReservationNotFound:
        if lease is None:  # Blazar has removed it after a failure.
            session.change(waits.reopen, wait.id)
        return
    session.change(
        waits.move,
        wait,
        WaitState.BOOKED,
        **_found(flavor, reservation.span),
        reservation_id=reservation.id,
        status_reason=None,
        ended_at=now.replace(microsecond=0),
    )
    LOG.info("Wait %s is booked: reservation %s", wait.id, reservation.id)


def _found(flavor: Flavor, span: Span) -> Mapping[str, Any]:
    return {"found_flavor_id": flavor.id, "start_date": span.start, "end_date": span.end}


def _end(wait: Wait, state: WaitState, now: datetime.datetime, reason: str | None) -> None:
    """End a wait for which nothing was booked, and tell its user."""
    over = dataclasses.replace(wait, state=state, status_reason=reason)

    def write(db: Session) -> None:
        ended = {"status_reason": reason, "ended_at": now.replace(microsecond=0)}
        if waits.move(db, wait, state, **ended):
            named = flavors.get_many(db, {wait.flavor_id} if wait.flavor_id else set())
            name = next((f.name for f in named.values()), f"flavors of category {wait.category}")
            outbox.add_wait(db, over, News(Kind.WAIT_ENDED, now), name)

    session.change(write)
    LOG.info("Wait %s has ended: %s %s", wait.id, state, reason or "")


def _tell(wait: Wait, offer: FlavorOffer, request: admission.BookingRequest) -> None:
    """Tell the user of a wait that there is room, and keep it for them for a few minutes.

    It isn't kept for a project that was told of the flavor within a day and hasn't booked it since.
    Otherwise a project could keep a flavor from all others by one wait after the other.
    """
    span, now = request.span, request.now
    since, flavor_id = now - times.SERVED_WAIT_COUNTS_FOR, offer.flavor.id
    told = dataclasses.replace(
        wait, state=WaitState.TOLD, found=span, found_flavor_id=flavor_id, status_reason=None
    )

    def write(db: Session) -> None:
        ended_at, kept_until = now.replace(microsecond=0), None
        if not waits.was_told_in_vain(db, wait, flavor_id, since):
            kept_until = ended_at + times.TOLD_FIRST_FOR
        values = {"status_reason": None, "ended_at": ended_at, "kept_until": kept_until}
        # Otherwise a booking that was decided about before could be written after this.
        if admission.hold(db, request) and waits.move(
            db, wait, WaitState.TOLD, **_found(offer.flavor, span), **values
        ):
            news = News(Kind.WAIT_TOLD, now)
            outbox.add_wait(db, told, news, offer.flavor.name, is_kept=kept_until is not None)
            LOG.info("Wait %s was told", wait.id)

    _held(write)


@session.retried
def _held(write: Callable[[Session], None]) -> None:
    with session.claiming() as db:
        write(db)


def forget(now: datetime.datetime, days: int) -> None:
    """Delete the waits that ended more than so many days ago."""
    session.change(waits.delete_old, now - days * times.DAY)
