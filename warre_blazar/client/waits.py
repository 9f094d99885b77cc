"""The requests of the v2 API about waits, as methods."""

import datetime
from typing import Any

from warre_blazar.client import lookup, times
from warre_blazar.client.collection import DRY_RUN, Collection, Time, known, query_of, values_of
from warre_blazar.client.transport import path
from warre_blazar.client.types import Page, Wait


class Waits(Collection):
    """What projects want to book once there is room.

    ``ref`` is a wait's id, the start of its id, or the name of the reservation to be. A name works
    only if no other wait of the project that is WAITING has it.
    """

    noun = "waits"

    def list(
        self,
        *,
        all_projects: bool = False,
        status: str | None = None,
        limit: int | None = None,
        **filters: str | None,
    ) -> list[Wait]:
        """Return the waits of the user's project, the oldest first.

        :param all_projects: return those of all projects. Only operators may set this.
        :param status: return only waits with one of these states, which commas separate.
        :param limit: the largest number of waits to return.
        :param filters: filters by ``project_id`` or ``user_id``.
        """
        query = _listing(all_projects, status, filters)
        return [Wait.of(d) for d in self._transport.list(self.noun, query, limit)]

    def page(
        self,
        number: int = 1,
        size: int = 50,
        *,
        all_projects: bool = False,
        status: str | None = None,
        **filters: str | None,
    ) -> Page[Wait]:
        """Return one page of what ``list`` returns for the same other arguments.

        :param number: the number of the page. The first one is 1.
        :param size: the number of waits on each page.
        """
        query = _listing(all_projects, status, filters)
        return self._page(Wait, query, number, size)

    def get(self, ref: str) -> Wait:
        """Return one wait, with its position in line."""
        return Wait.of(self._transport.request_document("GET", self._path(ref)))

    def create(
        self,
        flavor: str | None = None,
        *,
        length: datetime.timedelta,
        count: int = 1,
        category: str | None = None,
        earliest: Time | None = None,
        latest: Time | None = None,
        dry_run: bool = False,
        **values: Any,
    ) -> Wait:
        """Wait until instances can be booked.

        :param flavor: the id or the name of a flavor. None: any flavor of ``category`` will do.
        :param length: the length of the reservation.
        :param earliest: the earliest start. Default: now.
        :param latest: the latest end. Default: 90 days after the earliest start.
        :param dry_run: make no wait, but return the wait as it would be.
        :param values: further fields of ``Wait``: ``mode``, ``expires_at``, ``affinity``, ``name``,
            ``note``, ``contact``, ``timezone``, ``before_end``, or ``project_id``: the project that
            waits (default: the user's own). None is left out.
        """
        wanted = {
            "flavor_id": flavor,
            "category": category,
            "from": earliest,
            "to": latest,
            **values,
        }
        body = {name: value for name, value in wanted.items() if value is not None}
        body |= {"hours": round(length / times.HOUR, 6), "instance_count": count}
        address, body = f"/{self.noun}", values_of(body)
        if dry_run:
            foreseen = self._transport.request_document("POST", address, query=DRY_RUN, body=body)
            return Wait.of(foreseen)
        return Wait.of(self._transport.create(address, body))

    def delete(self, ref: str) -> None:
        """Cancel a wait. What was booked for it stays."""
        self._transport.request("DELETE", self._path(ref))

    def _path(self, ref: str) -> str:
        return path(self.noun, lookup.wait(self, ref))


def _listing(
    all_projects: bool, status: str | None, filters: dict[str, str | None]
) -> dict[str, str]:
    """The query of a listing."""
    return query_of(
        all_projects=all_projects or None,
        status=status,
        **known(filters, "project_id", "user_id"),
    )
