"""The requests of the v2 API about waits, as methods."""

import datetime
from typing import Any

from warre_blazar.client import lookup, times
from warre_blazar.client.collection import DRY_RUN, Owned, Time, parameters, values_of
from warre_blazar.client.types import Wait


class Waits(Owned[Wait]):
    """What projects want to book once there is room, the oldest first.

    ``ref`` is a wait's id, the start of its id, or the name of the reservation to be. A name works
    only if no other wait of the project that is WAITING has it. If none is, it means the latest.

    ``list`` filters by ``status`` (one or more of the states, which commas separate) and
    ``user_id``, and for operators by ``project_id`` or ``all_projects``. ``get`` returns a wait
    with its position in line. ``delete`` cancels it; what was booked for it stays.
    """

    noun, kind = "waits", Wait
    filters = parameters("all_projects", "status", "project_id", "user_id")

    def create(  # type: ignore[override]
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
            ``note``, ``contact``, ``webhook``, ``timezone``, ``before_end``, or ``project_id``: the
            project that waits (default: the user's own). None is left out.
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

    def _id(self, ref: str) -> str:
        return lookup.wait(self, ref)
