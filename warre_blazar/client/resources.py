"""The requests of the v2 API about everything but reservations, as methods.

There is a class for each kind of object.
"""

import datetime
from collections.abc import Iterable
from typing import Any

from warre_blazar.client import errors, lookup
from warre_blazar.client.collection import (
    Collection,
    Editable,
    Listed,
    Owned,
    Paged,
    Time,
    hours_of,
    parameters,
    query_of,
)
from warre_blazar.client.types import (
    Access,
    AuditFinding,
    AuditReport,
    Availability,
    CalendarAddress,
    Flavor,
    Host,
    Limits,
    Messages,
    Offers,
    Page,
    Reason,
    Refusal,
    Share,
    Span,
    UsageReport,
    Window,
)

# Inside a class that has a method ``list``, the name ``list`` means this method. So annotations in
# these classes use the following names.
SpanList = list[Span]
FlavorList = list[Flavor]
LimitsList = list[Limits]


class Flavors(Editable[Flavor]):
    """The flavors that operators offer for booking. ``ref`` is a flavor's id or name.

    ``list`` returns the flavors that the project may book. It filters by ``category`` and
    ``availability_zone``. With ``all_projects``, operators get all flavors, including inactive
    flavors and private flavors of all projects.
    """

    noun, kind = "flavors", Flavor
    filters = parameters("all_projects", "category", "availability_zone")

    def visible(self) -> FlavorList:
        """Return all flavors that the user may see. Operators may see all flavors."""
        try:
            return self.list(all_projects=True)
        except errors.ApiError as error:
            if error.code != "forbidden":
                raise
        return self.list()

    def get(
        self,
        ref: str,
        *,
        capacity: bool = False,
        start: datetime.datetime | None = None,
        end: datetime.datetime | None = None,
    ) -> Flavor:
        """Return one flavor.

        :param capacity: include the capacity from a start to an end, or else for the coming 30
            days. Only operators may ask for the capacity.
        """
        query = query_of(detail="capacity" if capacity else None, start=start, end=end)
        return Flavor.of(*self._transport.request_tagged("GET", self._path(ref), query=query))

    def create(self, name: str, *, dry_run: bool = False, **values: Any) -> Flavor:
        """Create a flavor. ``values`` are fields of ``Flavor``.

        :param dry_run: create nothing, and return the flavor as it would be. Its id isn't kept.
        """
        return self._make({"name": name, **values}, dry_run=dry_run)

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
        search = {"start": start, "end": end, "count": count, "affinity": affinity}
        return [Span.of(each) for each in self._free(ref, hours=hours_of(length), **search)]

    def why_not_free(
        self, ref: str, *, length: datetime.timedelta | None = None, count: int = 1, **search: Any
    ) -> Reason | None:
        """Return the reason why no free slot is at least ``length`` long.

        The other parameters are those of ``free_slots``. The result is None if a free slot of this
        length exists, or if the server gives no reasons.
        """
        answer = self._free(ref, count=count, **search, hours=hours_of(length), reason=True)
        reason = answer.get("reason") if isinstance(answer, dict) else None
        return None if reason is None else Reason.of(reason)

    def _free(self, ref: str, **search: Any) -> Any:
        where = f"{self._path(ref)}/freeslots"
        return self._transport.request_document("GET", where, query=query_of(**search))

    def _id(self, ref: str) -> str:
        return lookup.flavor(self, ref)


class AccessRights(Listed[Access]):
    """The access rights: which projects may book which private flavors.

    ``list`` filters by ``flavor_id`` and ``project_id``.
    """

    noun, kind = "flavorprojects", Access
    filters = parameters("flavor_id", "project_id")

    def grant(self, flavor: str, project_id: str) -> Access:
        """Allow a project to book a private flavor. ``flavor`` is the flavor's id or name."""
        body = {"flavor_id": flavor, "project_id": project_id}
        return Access.of(self._transport.create("/flavorprojects", body))

    def revoke(self, access_id: str) -> None:
        """Withdraw an access right. Existing reservations stay."""
        self._remove(access_id)


class Windows(Editable[Window]):
    """Maintenance windows, ordered by start.

    ``ref`` is a window's id, the start of its id, or its note. A note works only if no other window
    has the same note. ``update`` changes ``start``, ``end``, ``note``, ``flavor_ids`` or
    ``host_ids``. ``bookings`` is the same as for ``create``, and may be given alone.
    """

    noun, kind = "maintenancewindows", Window

    def get(self, ref: str) -> Window:
        """Return one maintenance window."""
        return Window.of(*self._transport.request_tagged("GET", self._path(ref)))

    def create(
        self,
        *,
        start: Time,
        end: Time,
        flavor_ids: Iterable[str] = (),
        host_ids: Iterable[str] = (),
        note: str | None = None,
        bookings: str | None = None,
        dry_run: bool = False,
    ) -> Window:
        """Create a window. While it lasts, the given flavors and hosts can't be booked.

        :param host_ids: the ids or hypervisor hostnames of hosts.
        :param bookings: what is done with the reservations that the window meets: ``refuse``,
            ``show``, ``move`` or ``end``, as the API describes it. None: a window that meets any is
            refused. ``reservations`` of the returned window says what became of them. With
            ``show``, nothing is created.
        :param dry_run: create nothing, and return the window as it would be. Its id isn't kept.
        """
        body: dict[str, Any] = {
            "start": start,
            "end": end,
            "note": note,
            "flavor_ids": list(flavor_ids),
        }
        if hosts := list(host_ids):
            body["host_ids"] = hosts
        if bookings is not None:
            body["bookings"] = bookings
        return self._make(body, dry_run=dry_run or bookings == "show")

    def _id(self, ref: str) -> str:
        return lookup.window(self, ref)


class Hosts(Collection):
    """The hosts that reservations are on. Only operators may see them."""

    noun = "hosts"

    def list(
        self, *, start: Time | None = None, end: Time | None = None, host: str | None = None
    ) -> list[Host]:
        """Return all hosts, with how full they are and with the reservations on them.

        :param start: the start of the time that the answer is about. Default: now.
        :param end: the end of this time. Default: a week after the start.
        :param host: the id or the name of the only host to return. Its document also has
            ``room_taken``: who holds room there without a reservation, and ``compute_service``.
        """
        query = query_of(start=start, end=end, host=host)
        return [Host.of(d) for d in self._transport.list(self.noun, query)]


class MessageSettings(Collection):
    """Whether the user gets messages about the reservations that the user has booked."""

    noun = "messages"

    def get(self) -> Messages:
        """Return whether the user gets messages."""
        return Messages.of(self._transport.request_document("GET", "/messages"))

    def update(self, *, enabled: bool) -> Messages:
        """Turn messages on or off."""
        body = {"enabled": enabled}
        return Messages.of(self._transport.request_document("PATCH", "/messages", body=body))


class Offerings(Collection):
    """Searches over all flavors that the project may book.

    The searches share these parameters, which choose flavors: ``flavor`` (an id or a name),
    ``category``, ``availability_zone``, and ``properties``: an expression whose comparisons the
    flavors' own properties must have.
    """

    noun = "offers"

    def list(
        self,
        *,
        start: Time | None = None,
        end: Time | None = None,
        length: datetime.timedelta | None = None,
        count: int = 1,
        affinity: bool | None = None,
        limit: int | None = None,
        **choice: str | None,
    ) -> Offers:
        """Return when flavors can be booked, the earliest start first.

        :param start: the earliest start. Default: now.
        :param end: the latest end. Default: 90 days after the start.
        :param length: the length of the booking. Default: an hour.
        :param limit: the largest number of offers to return.
        """
        search: dict[str, Any] = {"from": start, "to": end, "count": count, "affinity": affinity}
        query = query_of(**search, hours=hours_of(length), limit=limit, **choice)
        return Offers.of(self._transport.request_document("GET", "/offers", query=query))

    def availability(
        self,
        *,
        start: Time | None = None,
        end: Time | None = None,
        by: str = "day",
        count: int = 1,
        length: datetime.timedelta | None = None,
        **choice: str | None,
    ) -> Availability:
        """Return how many instances of flavors are free, by day or hour.

        :param start: the start of the first day or hour. Default: now.
        :param end: the end. Default: 14 days after the start.
        :param by: ``day`` or ``hour``.
        :param count: flavors of which so many are never free are missing.
        :param length: also say in which days or hours a booking of this length can begin.
        """
        search = {"from": start, "to": end, "by": by, "count": count, "hours": hours_of(length)}
        query = query_of(**search, **choice)
        return Availability.of(
            self._transport.request_document("GET", "/availability", query=query)
        )


class ProjectLimits(Collection):
    """The limits of projects, and how much of them the projects use."""

    noun = "limits"

    def get(self, project_id: str | None = None) -> Limits:
        """Return the limits of the user's project, or (for operators) of another project."""
        query = query_of(project_id=project_id)
        return Limits.of(self._transport.request_document("GET", "/limits", query=query))

    def list(self) -> LimitsList:
        """Return the limits of all projects. Only operators may ask for them."""
        return [Limits.of(d) for d in self._transport.list(self.noun, {"all_projects": "true"})]


class ProjectUsage(Collection):
    """What became of the instances that projects have booked."""

    noun = "usage"

    def get(
        self,
        *,
        since: Time | None = None,
        until: Time | None = None,
        by: str | None = None,
        all_projects: bool = False,
        timezone: str | None = None,
        **filters: str | None,
    ) -> UsageReport:
        """Return the usage of the user's project, or (for operators) of others.

        :param since: the start of the time. Default: the start of the month of ``until``.
        :param until: the end of the time. Default: now.
        :param by: ``project``, ``user``, ``flavor``, ``day``, ``week`` or ``month``. None: add up
            everything.
        :param timezone: the time zone in which days, weeks and months begin, such as
            ``Australia/Melbourne``. Default: UTC.
        :param filters: filters by ``project_id``, ``user_id`` or ``flavor_id``.
        """
        if unknown := filters.keys() - {"project_id", "user_id", "flavor_id"}:
            raise TypeError(f"unknown filters: {', '.join(sorted(unknown))}")
        span = {"from": since, "to": until}
        whole = all_projects or None
        query = query_of(**span, by=by, timezone=timezone, all_projects=whole, **filters)
        return UsageReport.of(self._transport.request_document("GET", "/usage", query=query))


class Refusals(Paged[Refusal]):
    """Requests to book or to change a reservation that a rule has refused, the latest first.

    ``list`` filters by ``project_id``, ``user_id``, ``flavor_id`` or ``code``. It returns only
    requests that were refused at ``since`` or later, and before ``until``. Only operators may set
    ``all_projects``.
    """

    noun, kind = "refusals", Refusal
    filters = parameters(
        *("all_projects", "project_id", "user_id", "flavor_id", "code"), since="from", until="to"
    )


class Calendars(Owned[CalendarAddress]):
    """The addresses that the user has made for the project's calendar, at most one for a project.

    ``ref`` is an address's id, the start of its id, or its name.

    ``list`` filters by ``all_projects``, for operators. ``create`` takes a ``name``.
    """

    noun, kind = "calendars", CalendarAddress
    filters = parameters("all_projects")

    def _id(self, ref: str) -> str:
        return lookup.owned(self, "calendar", ref)


class Shares(Owned[Share]):
    """The rights of projects to boot servers on the places of others' reservations.

    ``ref`` is a share's id, or the start of its id.

    ``list`` returns those that the user's project gives or has. It filters by ``reservation_id``,
    and for operators by ``all_projects``. ``create`` takes ``reservation_id`` and ``project_id``.
    """

    noun, kind = "shares", Share
    filters = parameters("all_projects", "reservation_id")

    def _id(self, ref: str) -> str:
        return lookup.owned(self, "share", ref)


class Audits(Collection):
    """What ``warre-blazar-manage audit`` has found. Only operators may see it."""

    noun = "audit"

    def get(self, number: int = 1, size: int = 50) -> AuditReport:
        """Return a page of the report of the last audit.

        :param number: the number of the page. The first one is 1.
        :param size: the number of findings on each page.
        """
        query = {"limit": str(size), "page": str(number)}
        document = self._transport.request_document("GET", f"/{self.noun}", query=query)
        found = tuple(AuditFinding.of(each) for each in document["results"])
        finished = document["finished_at"]
        return AuditReport(
            datetime.datetime.fromisoformat(finished) if finished else None,
            document["found"],
            {each["service"]: each["reason"] for each in document["away"]},
            Page(found, number, size, document["total"]),
        )
