"""The requests of the v2 API, as methods. There is a class for each kind of object."""

import datetime
from collections.abc import Callable, Iterable
from typing import Any

from keystoneauth1 import exceptions as ksa

from warre_blazar import waiting
from warre_blazar.client import errors, lookup
from warre_blazar.client.transport import Transport, path
from warre_blazar.client.types import (
    Access,
    Alternatives,
    Document,
    DryRun,
    Flavor,
    Host,
    Limits,
    Reason,
    Reservation,
    Span,
    Window,
)

Time = datetime.datetime
# Inside a class that has a method ``list``, the name ``list`` means this method. So annotations in
# these classes use the following names.
SpanList = list[Span]
FlavorList = list[Flavor]


def _values(given: dict[str, Any]) -> Document:
    """Return the values in the form that the API expects, with times as texts.

    :raises errors.NaiveTime: a time has no time zone.
    """
    return {name: _time(name, v) if isinstance(v, Time) else v for name, v in given.items()}


def _time(name: str, moment: Time) -> str:
    if moment.utcoffset() is None:
        raise errors.NaiveTime(name, moment)
    return moment.isoformat()


def _query(**given: Any) -> dict[str, str]:
    """Return the parameters that aren't None, as a URL query."""
    query = {k: v for k, v in _values(given).items() if v is not None}
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in query.items()}


def _hours(length: datetime.timedelta | None) -> str | None:
    return None if length is None else f"{length.total_seconds() / 3600:.6f}"


class _Collection:
    #: The collection's name in paths.
    noun = ""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Flavors(_Collection):
    """The flavors that operators offer for booking. ``ref`` is a flavor's id or name."""

    noun = "flavors"

    def list(
        self,
        *,
        all_projects: bool = False,
        category: str | None = None,
        availability_zone: str | None = None,
    ) -> list[Flavor]:
        """Return the flavors that the project may book.

        :param all_projects: return all flavors, including inactive flavors and private flavors of
            all projects. Only operators may ask for all flavors.
        """
        query = _query(
            all_projects=all_projects or None,
            category=category,
            availability_zone=availability_zone,
        )
        return [Flavor.of(d) for d in self._transport.list(self.noun, query)]

    def visible(self) -> FlavorList:
        """Return all flavors that the user may see. Operators may see all flavors."""
        try:
            return self.list(all_projects=True)
        except errors.ApiError as error:
            if error.code != "forbidden":
                raise
        return self.list()

    def get(self, ref: str, *, capacity: bool = False) -> Flavor:
        """Return one flavor.

        :param capacity: include the capacity for the coming 30 days. Only operators may ask for the
            capacity.
        """
        query = _query(detail="capacity" if capacity else None)
        return Flavor.of(self._transport.request_document("GET", self._path(ref), query=query))

    def create(self, name: str, **values: Any) -> Flavor:
        """Create a flavor. ``values`` are fields of ``Flavor``."""
        body = _values({"name": name, **values})
        return Flavor.of(self._transport.create("/flavors", body))

    def update(self, ref: str, **values: Any) -> Flavor:
        """Change fields of a flavor. ``extra_specs`` replaces all extra specs of the flavor."""
        return Flavor.of(
            self._transport.request_document("PATCH", self._path(ref), body=_values(values))
        )

    def delete(self, ref: str) -> None:
        """Delete a flavor. The API refuses this if any reservation of the flavor isn't COMPLETE."""
        self._transport.request("DELETE", self._path(ref))

    def free_slots(
        self,
        ref: str,
        *,
        start: Time | None = None,
        end: Time | None = None,
        count: int = 1,
        affinity: bool | None = None,
        length: datetime.timedelta | None = None,
    ) -> SpanList:
        """Return the spans of time in which ``count`` instances are free.

        A reservation may begin and end anywhere within one span.

        :param start: the start of the time to search. Default: now.
        :param end: the end of the time to search. Default: a year after the start.
        :param affinity: True: all instances on one host. False: each on a host of its own. None: on
            any hosts.
        :param length: return only spans that are at least this long. If a reservation of the flavor
            can't be this long, there are none.
        """
        search: dict[str, Any] = {"start": start, "end": end, "count": count, "affinity": affinity}
        query = _query(**search, hours=_hours(length))
        documents = self._transport.request_document(
            "GET", f"{self._path(ref)}/freeslots", query=query
        )
        return [Span.of(d) for d in documents]

    def why_not_free(
        self,
        ref: str,
        *,
        start: Time | None = None,
        end: Time | None = None,
        count: int = 1,
        affinity: bool | None = None,
        length: datetime.timedelta | None = None,
    ) -> Reason | None:
        """Return the reason why no free slot is at least ``length`` long.

        The other parameters are those of ``free_slots``. The result is None if a free slot of this
        length exists, or if the server gives no reasons.
        """
        search: dict[str, Any] = {"start": start, "end": end, "count": count, "affinity": affinity}
        query = _query(**search, hours=_hours(length), reason=True)
        answer = self._transport.request_document(
            "GET", f"{self._path(ref)}/freeslots", query=query
        )
        reason = answer.get("reason") if isinstance(answer, dict) else None
        return None if reason is None else Reason.of(reason)

    def _path(self, ref: str) -> str:
        return path(self.noun, lookup.flavor(self, ref))


class AccessRights(_Collection):
    """The access rights: which projects may book which private flavors."""

    noun = "flavorprojects"

    def list(self, *, flavor_id: str | None = None, project_id: str | None = None) -> list[Access]:
        """Return access rights. The parameters select one flavor's or one project's rights."""
        query = _query(flavor_id=flavor_id, project_id=project_id)
        return [Access.of(d) for d in self._transport.list(self.noun, query)]

    def grant(self, flavor: str, project_id: str) -> Access:
        """Allow a project to book a private flavor. ``flavor`` is the flavor's id or name."""
        body = {"flavor_id": flavor, "project_id": project_id}
        return Access.of(self._transport.create("/flavorprojects", body))

    def revoke(self, access_id: str) -> None:
        """Withdraw an access right. Existing reservations stay."""
        self._transport.request("DELETE", path(self.noun, access_id))


#: The API's query parameter for each filter of ``Reservations.list``.
_FILTERS = {
    **{name: name for name in ("project_id", "flavor_id", "user_id", "name", "status", "host")},
    "since": "from",
    "until": "to",
}


#: The query of a dry run.
_DRY = {"dry_run": "true"}


def _booking(
    flavor: str,
    *,
    start: Time,
    end: Time,
    count: int = 1,
    affinity: bool | None = None,
    name: str | None = None,
    note: str | None = None,
) -> dict[str, Any]:
    """The body of a booking."""
    body = _values({"flavor_id": flavor, "start": start, "end": end, "instance_count": count})
    optional = {"affinity": affinity, "name": name, "note": note}
    return body | {field: value for field, value in optional.items() if value is not None}


def _change(
    *,
    start: Time | None = None,
    end: Time | None = None,
    count: int | None = None,
    name: str | None = None,
    note: str | None = None,
) -> dict[str, Any]:
    """The body of a change. Fields that aren't given are left out."""
    given = {"start": start, "end": end, "instance_count": count, "name": name, "note": note}
    body = _values({field: value for field, value in given.items() if value is not None})
    return body | {field: None for field in ("name", "note") if body.get(field) == ""}


#: The codes of refusals after which something else could be booked.
_WITH_ALTERNATIVES = frozenset(
    {
        *("after_flavor_end", "before_flavor_start", "hosts_exhausted", "maintenance"),
        *("quota_exceeded", "slots_exhausted", "too_long"),
    }
)


def _alternatives(foreseen: DryRun, why_not_free: Reason | None = None) -> Alternatives:
    return Alternatives(
        foreseen.next_start, foreseen.longest_hours, foreseen.most_instances, why_not_free
    )


class Reservations(_Collection):
    """The reservations of projects.

    ``ref`` is a reservation's id, the start of its id, its name, or the name of its flavor. A name
    works only if exactly one of the project's reservations has it, not counting COMPLETE
    reservations. Operators may also use the start of an id of another project's reservation.
    """

    noun = "reservations"

    def list(
        self,
        *,
        all_projects: bool = False,
        deleted: bool = False,
        sort: str | None = None,
        limit: int | None = None,
        **filters: Any,
    ) -> list[Reservation]:
        """Return the project's reservations, ordered by start.

        :param all_projects: return the reservations of all projects. Only operators may set this.
        :param deleted: return only reservations that were deleted.
        :param sort: ``start``, ``end``, ``created_at``, ``project_id`` or ``user_id``. Append
            ``:desc`` to reverse the order.
        :param limit: the largest number of reservations to return.
        :param filters: filters by ``project_id``, ``flavor_id``, ``user_id``, ``name``, ``host``,
            ``status``, ``since`` or ``until``. ``status`` is a list of statuses. ``since`` and
            ``until`` are times: only reservations that end after ``since`` and start before
            ``until`` are returned. Only operators may filter by host or by another project. A
            filter that is None has no effect.
        """
        unknown = filters.keys() - _FILTERS
        if unknown:
            raise TypeError(f"unknown filters: {', '.join(sorted(unknown))}")
        values = {_FILTERS[name]: value for name, value in filters.items()}
        values["status"] = ",".join(filters.get("status") or ()) or None
        query = _query(
            all_projects=all_projects or None, deleted=deleted or None, sort=sort, **values
        )
        return [Reservation.of(d) for d in self._transport.list(self.noun, query, limit)]

    def get(self, ref: str, *, log: bool = False) -> Reservation:
        """Return one reservation.

        :param log: include what has happened to the reservation (``Reservation.log``). A deleted
            reservation is found too, by its id.
        """
        query = _query(detail="log" if log else None)
        return Reservation.of(self._transport.request_document("GET", self._path(ref), query=query))

    def create(
        self,
        flavor: str,
        *,
        start: Time,
        end: Time,
        count: int = 1,
        affinity: bool | None = None,
        name: str | None = None,
        note: str | None = None,
    ) -> Reservation:
        """Book instances of a flavor from ``start`` to ``end``.

        ``end`` is the first moment after the reservation.

        :param flavor: the id or name of the flavor.
        :param count: the number of instances.
        :param affinity: True: all instances on one host. False: each on a host of its own. None: on
            any hosts.
        :param name: a name for the reservation. Several reservations may have the same name.
        """
        wanted: dict[str, Any] = {"start": start, "end": end, "count": count, "affinity": affinity}
        body = _booking(flavor, **wanted, name=name, note=note)
        try:
            return Reservation.of(self._transport.create("/reservations", body))
        except errors.ApiError as error:
            if error.code in _WITH_ALTERNATIVES:
                error.ask_with(lambda: self._alternatives(flavor, **wanted))
            raise

    def _alternatives(self, flavor: str, *, start: Time, end: Time, **wanted: Any) -> Alternatives:
        foreseen = self.try_create(flavor, start=start, end=end, **wanted)
        reason = None
        if foreseen.next_start is None:
            flavors = Flavors(self._transport)
            reason = flavors.why_not_free(flavor, start=start, length=end - start, **wanted)
        return _alternatives(foreseen, reason)

    def try_create(self, flavor: str, **values: Any) -> DryRun:
        """Return what ``create`` would do with the same arguments. Nothing is booked."""
        document = self._transport.request_document(
            "POST", "/reservations", query=_DRY, body=_booking(flavor, **values)
        )
        return DryRun.of(document)

    def update(
        self,
        ref: str,
        *,
        start: Time | None = None,
        end: Time | None = None,
        count: int | None = None,
        name: str | None = None,
        note: str | None = None,
    ) -> Reservation:
        """Change a reservation. Fields that aren't given keep their values.

        :param name: the new name. An empty text removes the name.
        :param note: the new note. An empty text removes the note.
        """
        wanted: dict[str, Any] = {"start": start, "end": end, "count": count}
        body = _change(**wanted, name=name, note=note)
        where = self._path(ref)
        try:
            return Reservation.of(self._transport.request_document("PATCH", where, body=body))
        except errors.ApiError as error:
            if error.code in _WITH_ALTERNATIVES:
                error.ask_with(lambda: _alternatives(self.try_update(ref, **wanted)))
            raise

    def try_update(self, ref: str, **values: Any) -> DryRun:
        """Return what ``update`` would do with the same arguments. Nothing is changed."""
        document = self._transport.request_document(
            "PATCH", self._path(ref), query=_DRY, body=_change(**values)
        )
        return DryRun.of(document)

    def delete(self, ref: str) -> bool:
        """Delete a reservation and its servers.

        :returns: True if the reservation is deleted. False if the deletion isn't finished yet.
        """
        response = self._transport.request("DELETE", self._path(ref))
        return response.status_code != 202

    def wait(
        self,
        ref: str,
        *,
        tell: Callable[[Reservation], None] = lambda _: None,
        pause: float = 1.0,
        poll: float = 5.0,
        patience: float = 600.0,
        sleep: Callable[[float], None] = waiting.sleep,
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
        reservation = self.get(ref)
        seconds_to_poll, seconds_away = poll, 0.0
        while True:
            tell(reservation)
            if reservation.status == "ACTIVE":
                return reservation
            if reservation.status in ("COMPLETE", "ERROR"):
                why = f": {reservation.status_reason}" if reservation.status_reason else ""
                raise errors.WaitError(f"Reservation {reservation.id} is {reservation.status}{why}")
            sleep(pause)
            seconds_to_poll -= pause
            if seconds_to_poll > 0:
                continue
            seconds_to_poll = poll
            try:
                reservation, seconds_away = self.get(reservation.id), 0.0
            except (errors.ApiError, ksa.ClientException) as error:
                if not _is_outage(error):
                    raise
                seconds_away += poll
                if seconds_away >= patience:
                    raise errors.WaitError(
                        f"Reservation {reservation.id} was {reservation.status} when the API was "
                        f"last there, {seconds_away:.0f} s ago: {error}"
                    ) from error

    def _path(self, ref: str) -> str:
        return path(self.noun, lookup.reservation(self, ref))


def _is_outage(error: Exception) -> bool:
    """Whether an error says that the API or Keystone is away."""
    status = getattr(error, "status", None) or getattr(error, "http_status", None)
    return isinstance(error, ksa.ConnectionError) or (status or 0) >= 500


class Windows(_Collection):
    """Maintenance windows.

    ``ref`` is a window's id, the start of its id, or its note. A note works only if no other window
    has the same note.
    """

    noun = "maintenancewindows"

    def list(self) -> list[Window]:
        """Return all maintenance windows, ordered by start."""
        return [Window.of(d) for d in self._transport.list(self.noun)]

    def get(self, ref: str) -> Window:
        """Return one maintenance window."""
        return Window.of(self._transport.request_document("GET", self._path(ref)))

    def create(
        self, *, start: Time, end: Time, flavor_ids: Iterable[str] = (), note: str | None = None
    ) -> Window:
        """Create a window. While it lasts, the given flavors can't be booked."""
        body = _values({"start": start, "end": end, "note": note, "flavor_ids": list(flavor_ids)})
        return Window.of(self._transport.create("/maintenancewindows", body))

    def update(self, ref: str, **values: Any) -> Window:
        """Change the fields ``start``, ``end``, ``note`` or ``flavor_ids`` of a window.

        ``flavor_ids`` replaces all flavors of the window.
        """
        return Window.of(
            self._transport.request_document("PATCH", self._path(ref), body=_values(values))
        )

    def delete(self, ref: str) -> None:
        """Delete a window, so that its flavors can be booked again."""
        self._transport.request("DELETE", self._path(ref))

    def _path(self, ref: str) -> str:
        return path(self.noun, lookup.window(self, ref))


class Hosts(_Collection):
    """The hosts that reservations are on. Only operators may see them."""

    noun = "hosts"

    def list(self, *, start: Time | None = None, end: Time | None = None) -> list[Host]:
        """Return all hosts, with how full they are and with the reservations on them.

        :param start: the start of the time that the answer is about. Default: now.
        :param end: the end of this time. Default: a week after the start.
        """
        query = _query(start=start, end=end)
        return [Host.of(d) for d in self._transport.list(self.noun, query)]


class ProjectLimits(_Collection):
    """The limits of projects, and how much of them the projects use."""

    noun = "limits"

    def get(self, project_id: str | None = None) -> Limits:
        """Return the limits of the user's project, or (for operators) of another project."""
        query = _query(project_id=project_id)
        return Limits.of(self._transport.request_document("GET", "/limits", query=query))

    def list(self) -> list[Limits]:
        """Return the limits of all projects. Only operators may ask for them."""
        return [Limits.of(d) for d in self._transport.list(self.noun, {"all_projects": "true"})]
