"""The requests of the v2 API about reservations, as methods."""

from collections.abc import Callable
from typing import Any

from keystoneauth1 import exceptions as ksa

from warre_blazar import timer
from warre_blazar.client import errors, lookup, times
from warre_blazar.client.collection import (
    DRY_RUN,
    Paged,
    Time,
    parameters,
    query_of,
    shown_as,
    values_of,
)
from warre_blazar.client.types import DryRun, Extension, Reservation

#: The texts of a reservation that can be changed: labels, and what is done before the end.
_TEXTS = ("name", "note", "contact", "webhook", "before_end")
_OF_NEW = ("timezone", "movable_hours", "handle", "visible_before_start")


def _booking(
    flavor: str,
    *,
    start: Time,
    end: Time,
    count: int = 1,
    affinity: bool | None = None,
    project_id: str | None = None,
    **texts: Any,
) -> dict[str, Any]:
    """The body of a booking.

    :param texts: those of ``_TEXTS`` and ``_OF_NEW``.
    """
    if unknown := texts.keys() - {*_TEXTS, *_OF_NEW}:
        raise TypeError(f"unknown fields: {', '.join(sorted(unknown))}")
    body = values_of({"flavor_id": flavor, "start": start, "end": end, "instance_count": count})
    optional = {"affinity": affinity, "project_id": project_id, **texts}
    return body | {field: value for field, value in optional.items() if value is not None}


def _change(
    *,
    start: Time | None = None,
    end: Time | None = None,
    count: int | None = None,
    **texts: Any,
) -> dict[str, Any]:
    """The body of a change. Fields that aren't given are left out.

    :param texts: those of ``_TEXTS``, and ``movable_hours``. An empty text removes a value.
    """
    if unknown := texts.keys() - {*_TEXTS, "movable_hours"}:
        raise TypeError(f"unknown fields: {', '.join(sorted(unknown))}")
    given = {"start": start, "end": end, "instance_count": count, **texts}
    body = values_of({field: value for field, value in given.items() if value is not None})
    return body | {field: None for field in _TEXTS if body.get(field) == ""}


class Reservations(Paged[Reservation]):
    """The reservations of projects, ordered by start.

    ``ref`` is a reservation's id, the start of its id, its name, or the name of its flavor. A name
    works only if exactly one of the project's reservations has it, not counting COMPLETE
    reservations. Operators may also use the start of an id of another project's reservation.

    ``list`` has these filters:

    * ``status``: a list of statuses; ``name``, ``flavor_id`` and ``user_id``
    * ``since`` and ``until``: times. Only reservations that end after ``since`` and start before
      ``until`` are returned.
    * ``deleted``: True for only reservations that were deleted
    * ``idle``: True for only running reservations that had no server when Nova was last asked.
      Their ``idle_since`` says since when.
    * ``changes``: True to include how often each reservation has changed, and when last
      (``change_count``, ``changed_at``)
    * ``sort``: ``start``, ``end``, ``created_at``, ``project_id`` or ``user_id``. Append ``:desc``
      to reverse the order.
    * ``all_projects``, ``project_id`` and ``host``, for operators
    """

    noun, kind = "reservations", Reservation
    filters = parameters(
        *("all_projects", "deleted", "idle", "sort", "project_id", "flavor_id", "user_id"),
        *("name", "status", "host", "changes"),
        since="from",
        until="to",
    )

    def of_calendar(self, **filters: Any) -> list[Reservation]:
        """Return reservations for a calendar file: those of ``list``, and the deleted ones."""
        deleted = self.list(**filters, changes=True, deleted=True)
        return [*self.list(**filters, changes=True), *deleted]

    def get(
        self,
        ref: str,
        *,
        log: bool = False,
        servers: bool = False,
        past: bool = False,
        changes: bool = False,
    ) -> Reservation:
        """Return one reservation.

        :param log: include what has happened to the reservation (``Reservation.log``). A deleted
            reservation is found too, by its id.
        :param servers: in place of the log, include the servers in the reservation
            (``Reservation.servers``).
        :param changes: include how often the reservation has changed, and when last.
        :param past: let a name also mean a COMPLETE reservation if no other one has it.
        """
        detail = "log" if log else "servers" if servers else None
        query = query_of(detail=detail, changes=changes or None)
        where = self._path(lookup.reservation(self, ref, past=past))
        return Reservation.of(*self._transport.request_tagged("GET", where, query=query))

    def create(
        self,
        flavor: str,
        *,
        start: Time,
        end: Time,
        count: int = 1,
        affinity: bool | None = None,
        project_id: str | None = None,
        **texts: str | None,
    ) -> Reservation:
        """Book instances of a flavor from ``start`` to ``end``.

        ``end`` is the first moment after the reservation.

        :param flavor: the id or name of the flavor.
        :param count: the number of instances.
        :param affinity: True: all instances on one host. False: each on a host of its own. None: on
            any hosts.
        :param project_id: the project to book for. None: the user's own. Only operators with a role
            in another project may book for it.
        :param texts: ``name``, which several reservations may have; ``note``; ``contact``, the
            email address that messages go to (default: the user's own); ``webhook``, a URL that is
            called at the start and the end; ``timezone``, the name of
            the time zone in which messages also show times, such as ``Europe/Berlin``;
            ``before_end``, what is done with the servers before they are deleted at the end,
            ``nothing`` or ``snapshot`` (default: what the flavor says); ``movable_hours``, by how
            many hours maintenance may move the start to a later time (default: 0);
            ``handle``, which keeps the same Nova flavor in all reservations that have it; and with
            a handle, ``visible_before_start`` (default: False).
        """
        body = _booking(
            flavor,
            start=start,
            end=end,
            count=count,
            affinity=affinity,
            project_id=project_id,
            **texts,
        )
        return Reservation.of(self._transport.create(f"/{self.noun}", body))

    def try_create(self, flavor: str, **values: Any) -> DryRun:
        """Return what ``create`` would do with the same arguments. Nothing is booked."""
        document = self._transport.request_document(
            "POST", "/reservations", query=DRY_RUN, body=_booking(flavor, **values)
        )
        return DryRun.of(document)

    def update(
        self,
        ref: str,
        *,
        start: Time | None = None,
        end: Time | None = None,
        count: int | None = None,
        etag: str | None = None,
        **texts: Any,
    ) -> Reservation:
        """Change a reservation. Fields that aren't given keep their values.

        :param end: to end the reservation now, give the next full minute. The present one may have
            passed when the manager decides, and is refused then.
        :param etag: the ``etag`` of the reservation as it was shown. If somebody else has changed
            one of these fields since then, the API refuses the change with ``changed_since_shown``.
        :param texts: the new ``name`` or ``note``; ``contact``, the email address that messages go
            to from now on; ``webhook``, the URL that is called from now on; ``before_end``, what is
            done with the servers before the end; or ``movable_hours``, by how many hours
            maintenance may move the start. An empty text removes the name, the note, the address or
            the URL, and leaves it to the flavor what is done before the end.
        """
        body = _change(start=start, end=end, count=count, **texts)
        answer = self._transport.request_tagged(
            "PATCH", self._path(ref), body=body, headers=shown_as(etag)
        )
        return Reservation.of(*answer)

    def try_update(self, ref: str, *, etag: str | None = None, **values: Any) -> DryRun:
        """Return what ``update`` would do with the same arguments. Nothing is changed."""
        document = self._transport.request_document(
            "PATCH",
            self._path(ref),
            query=DRY_RUN,
            body=_change(**values),
            headers=shown_as(etag),
        )
        return DryRun.of(document)

    def extension(self, ref: str) -> Extension:
        """Return how far a reservation can be extended at this moment."""
        where = f"{self._path(ref)}/extensions"
        return Extension.of(self._transport.request_document("GET", where))

    def delete(self, ref: str) -> bool:
        """Delete a reservation and its servers.

        :returns: True if the reservation is deleted. False if the deletion isn't finished yet.
        """
        return self._remove(ref)

    def wait(
        self,
        ref: str,
        *,
        tell: Callable[[Reservation], None] = lambda _: None,
        pause: float = times.PROGRESS_EVERY,
        poll: float = times.START_POLL,
        patience: float = times.AWAY_AT_MOST,
        sleep: Callable[[float], None] = timer.sleep,
    ) -> Reservation:
        """Wait until a reservation is ACTIVE, and return it.

        :param tell: a function that is called every ``pause`` seconds with the reservation as it
            was last read.
        :param pause: the seconds between two calls of ``tell``.
        :param poll: the seconds between two requests to the API.
        :param patience: the seconds for which the API may be away.
        :raises errors.WaitError: the reservation is COMPLETE or ERROR, or the API is away for too
            long. The text gives the reason, if it is known.
        """
        reservation: Reservation | None = None
        seconds_to_poll, seconds_away = 0.0, 0.0
        while True:
            if seconds_to_poll <= 0:
                found = self._get_unless_away(ref)
                if isinstance(found, Reservation):
                    reservation, ref, seconds_away = found, found.id, 0.0
                else:
                    seconds_away += poll
                    if seconds_away >= patience:
                        raise _wait_error(ref, reservation, seconds_away, found) from found
                seconds_to_poll = poll
            if reservation is not None:
                tell(reservation)
                if reservation.status == "ACTIVE":
                    return reservation
                if reservation.status in ("COMPLETE", "ERROR"):
                    raise _over(reservation)
            sleep(pause)
            seconds_to_poll -= pause

    def _get_unless_away(self, ref: str) -> Reservation | Exception:
        """Return a reservation, or the error that says that the API or Keystone is away."""
        try:
            return self.get(ref)
        except (errors.ApiError, ksa.ClientException) as error:
            if not _is_outage(error):
                raise
            return error

    def _id(self, ref: str) -> str:
        return lookup.reservation(self, ref)


def _over(reservation: Reservation) -> errors.WaitError:
    """Return the error for a reservation that never becomes ACTIVE any more."""
    why = f": {reservation.status_reason}" if reservation.status_reason else ""
    return errors.WaitError(f"Reservation {reservation.id} is {reservation.status}{why}")


def _wait_error(
    ref: str, last: Reservation | None, seconds: float, error: Exception
) -> errors.WaitError:
    """Return the error for an API that is away for too long.

    :param last: the reservation as it was last read. None if it was never read.
    :param seconds: how long the API has been away.
    """
    if last is None:
        was = f"can't be read, because the API has been away for {seconds:.0f} s"
    else:
        was = f"was {last.status} when the API was last there, {seconds:.0f} s ago"
    return errors.WaitError(f"Reservation {ref} {was}: {error}")


def _is_outage(error: Exception) -> bool:
    """Whether an error says that the API or Keystone is away."""
    status = getattr(error, "status", None) or getattr(error, "http_status", None)
    return isinstance(error, ksa.ConnectionError) or (status or 0) >= 500
