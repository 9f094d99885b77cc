"""The nouns of the API."""

import datetime
import time
from collections.abc import Callable, Iterable
from typing import Any

from warre_blazar.client import errors, lookup
from warre_blazar.client.transport import Transport, path
from warre_blazar.client.types import (
    Access,
    Document,
    Flavor,
    Limits,
    Reservation,
    Span,
    Window,
)

Time = datetime.datetime
Spans = list[Span]


def _values(given: dict[str, Any]) -> Document:
    """As the API takes them.

    :raises errors.NaiveTime: a time has no zone.
    """
    return {name: _time(name, v) if isinstance(v, Time) else v for name, v in given.items()}


def _time(name: str, moment: Time) -> str:
    if moment.utcoffset() is None:
        raise errors.NaiveTime(name, moment)
    return moment.isoformat()


def _query(**given: Any) -> dict[str, str]:
    """What is not None, as a query."""
    query = {k: v for k, v in _values(given).items() if v is not None}
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in query.items()}


class _Noun:
    noun = ""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Flavors(_Noun):
    """What can be booked. ``ref`` is an id or a name."""

    noun = "flavors"

    def list(
        self,
        *,
        all_projects: bool = False,
        category: str | None = None,
        availability_zone: str | None = None,
    ) -> list[Flavor]:
        """Those the project may book; for operators inactive and others' private ones too."""
        query = _query(
            all_projects=all_projects or None,
            category=category,
            availability_zone=availability_zone,
        )
        return [Flavor.of(d) for d in self._transport.list(self.noun, query)]

    def get(self, ref: str, *, capacity: bool = False) -> Flavor:
        """One; for operators with its capacity for the year to come."""
        query = _query(detail="capacity" if capacity else None)
        return Flavor.of(self._transport.ask("GET", self._path(ref), query=query))

    def create(self, name: str, **values: Any) -> Flavor:
        """Make one; ``values`` are the fields of ``Flavor``."""
        body = _values({"name": name, **values})
        return Flavor.of(self._transport.ask("POST", "/flavors", body=body))

    def update(self, ref: str, **values: Any) -> Flavor:
        """Change it; ``extra_specs`` as a whole."""
        return Flavor.of(self._transport.ask("PATCH", self._path(ref), body=_values(values)))

    def delete(self, ref: str) -> None:
        """Delete it, once its reservations are all complete."""
        self._transport.send("DELETE", self._path(ref))

    def free_slots(
        self,
        ref: str,
        *,
        start: Time | None = None,
        end: Time | None = None,
        count: int = 1,
        affinity: bool | None = None,
    ) -> Spans:
        """What lies within one of the spans can be booked (default: from now on, for a year)."""
        query = _query(start=start, end=end, count=count, affinity=affinity)
        found = self._transport.ask("GET", f"{self._path(ref)}/freeslots", query=query)
        return [Span.of(d) for d in found]

    def _path(self, ref: str) -> str:
        return path(self.noun, lookup.flavor(self, ref))


class AccessRights(_Noun):
    """Which projects may book which private flavors."""

    noun = "flavorprojects"

    def list(self, *, flavor_id: str | None = None, project_id: str | None = None) -> list[Access]:
        """All, or those of a flavor or a project."""
        query = _query(flavor_id=flavor_id, project_id=project_id)
        return [Access.of(d) for d in self._transport.list(self.noun, query)]

    def grant(self, flavor: str, project_id: str) -> Access:
        """Let a project book a flavor (its id or name)."""
        body = {"flavor_id": flavor, "project_id": project_id}
        return Access.of(self._transport.ask("POST", "/flavorprojects", body=body))

    def revoke(self, access_id: str) -> None:
        """Take that back; what is booked stays."""
        self._transport.send("DELETE", path(self.noun, access_id))


class Reservations(_Noun):
    """What is booked. ``ref`` is an id, the start of one, or the flavor's name if it is one's
    only reservation of it that isn't over.
    """

    noun = "reservations"

    def list(
        self,
        *,
        all_projects: bool = False,
        project_id: str | None = None,
        flavor_id: str | None = None,
    ) -> list[Reservation]:
        """The project's, by start; for operators those of all projects, or another's."""
        query = _query(
            all_projects=all_projects or None, project_id=project_id, flavor_id=flavor_id
        )
        return [Reservation.of(d) for d in self._transport.list(self.noun, query)]

    def get(self, ref: str) -> Reservation:
        """One."""
        return Reservation.of(self._transport.ask("GET", self._path(ref)))

    def create(
        self,
        flavor: str,
        *,
        start: Time,
        end: Time,
        count: int = 1,
        affinity: bool | None = None,
    ) -> Reservation:
        """Book instances of a flavor (its id or name) from a start until before an end.

        :param affinity: True: all on one host; False: each on a host of its own.
        """
        body = _values({"flavor_id": flavor, "start": start, "end": end, "instance_count": count})
        if affinity is not None:
            body["affinity"] = affinity
        return Reservation.of(self._transport.ask("POST", "/reservations", body=body))

    def update(self, ref: str, *, end: Time) -> Reservation:
        """Give it more time or less."""
        body = _values({"end": end})
        return Reservation.of(self._transport.ask("PATCH", self._path(ref), body=body))

    def delete(self, ref: str) -> bool:
        """Delete it, and the servers on it.

        :returns: whether it is gone; False: that is under way.
        """
        response = self._transport.send("DELETE", self._path(ref))
        return response.status_code != 202

    def wait(
        self,
        ref: str,
        *,
        tell: Callable[[Reservation], None] = lambda _: None,
        pause: float = 1.0,
        poll: float = 5.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Reservation:
        """Wait until it is ACTIVE; ``tell`` hears of it every ``pause`` seconds.

        The API is asked every ``poll`` seconds.

        :raises errors.WaitError: it is over, or in ERROR; its text says why.
        """
        found = self.get(ref)
        left = poll
        while True:
            tell(found)
            if found.status == "ACTIVE":
                return found
            if found.status in ("COMPLETE", "ERROR"):
                why = f": {found.status_reason}" if found.status_reason else ""
                raise errors.WaitError(f"Reservation {found.id} is {found.status}{why}")
            sleep(pause)
            left -= pause
            if left <= 0:
                found, left = self.get(found.id), poll

    def _path(self, ref: str) -> str:
        return path(self.noun, lookup.reservation(self, ref))


class Windows(_Noun):
    """Maintenance windows. ``ref`` is an id, the start of one, or the note if one has it."""

    noun = "maintenancewindows"

    def list(self) -> list[Window]:
        """All, by start."""
        return [Window.of(d) for d in self._transport.list(self.noun)]

    def get(self, ref: str) -> Window:
        """One."""
        return Window.of(self._transport.ask("GET", self._path(ref)))

    def create(
        self, *, start: Time, end: Time, flavor_ids: Iterable[str] = (), note: str | None = None
    ) -> Window:
        """Close flavors for a time."""
        given = {"start": start, "end": end, "note": note, "flavor_ids": list(flavor_ids)}
        return Window.of(self._transport.ask("POST", "/maintenancewindows", body=_values(given)))

    def update(self, ref: str, **values: Any) -> Window:
        """Change ``start``, ``end``, ``note`` or, as a whole, ``flavor_ids``."""
        return Window.of(self._transport.ask("PATCH", self._path(ref), body=_values(values)))

    def delete(self, ref: str) -> None:
        """Delete it: its flavors can be booked again."""
        self._transport.send("DELETE", self._path(ref))

    def _path(self, ref: str) -> str:
        return path(self.noun, lookup.window(self, ref))


class ProjectLimits(_Noun):
    """What projects may book, and what they use of it."""

    noun = "limits"

    def get(self, project_id: str | None = None) -> Limits:
        """The project's own, or for operators another's."""
        query = _query(project_id=project_id)
        return Limits.of(self._transport.ask("GET", "/limits", query=query))

    def list(self) -> list[Limits]:
        """Those of all projects, for operators."""
        return [Limits.of(d) for d in self._transport.list(self.noun, {"all_projects": "true"})]
