"""The requests of the v2 API about series of reservations, as methods."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from warre_blazar.client import lookup, times
from warre_blazar.client.collection import DRY_RUN, Paged, parameters
from warre_blazar.client.types import Series, SeriesForeseen

#: The optional fields of a new series.
_OPTIONAL = (
    *("name", "note", "contact", "webhook", "before_end", "affinity", "project_id"),
    *("handle", "visible_before_start"),
)


class AllSeries(Paged[Series]):
    """Series of reservations, the latest first.

    ``ref`` is the id of a series, the start of its id, or its name. A name works only if exactly
    one series of the project has it, not counting those that were ended.

    Only operators may list the series of another ``project_id``, or of ``all_projects``.
    """

    noun, kind = "series", Series
    filters = parameters("all_projects", "project_id")

    def get(self, ref: str, *, past: bool = False) -> Series:
        """Return one series, with its reservations.

        :param past: whether a name may mean a series that was ended if no other has it.
        """
        where = self._path(lookup.series(self, ref, past=past))
        return Series.of(self._transport.request_document("GET", where))

    def create(self, flavor: str, **values: Any) -> Series:
        """Book a series. What couldn't be booked is in its ``refused``.

        :param flavor: the id or name of the flavor.
        :param values: ``start``, a local time without a time zone; ``timezone``, the name of the
            time zone, such as ``Europe/Berlin``; ``length``, how long each reservation is;
            ``rrule``, when they take place, such as ``FREQ=WEEKLY;COUNT=12``; ``count``, the number
            of instances (default: 1); ``all_or_none`` (default: False); ``exdates``, days and local
            starts that are left out, such as holidays; and the ``name``, ``note``, ``contact``,
            ``webhook``, ``before_end``, ``affinity``, ``handle`` and ``visible_before_start`` of
            the reservations. ``project_id`` is for operators.
        """
        return Series.of(self._transport.create(f"/{self.noun}", _body(flavor, **values)))

    def try_create(self, flavor: str, **values: Any) -> SeriesForeseen:
        """Return what ``create`` would do with the same arguments. Nothing is booked."""
        document = self._transport.request_document(
            "POST", f"/{self.noun}", query=DRY_RUN, body=_body(flavor, **values)
        )
        return SeriesForeseen.of(document)

    def extend(self, ref: str, **wanted: Any) -> Series:
        """Book further reservations of a series, or those that are missing.

        :param wanted: one of ``more``, how many further occurrences of the rule to book; ``until``,
            a local time without a time zone until which they start; and ``missing=True``, which
            books what couldn't be booked before. ``exdates`` may be given with the first two: what
            is left out from now on.
        """
        # Extended twice, a series would have twice as many further reservations.
        return Series.of(self._transport.create(self._path(ref), _extension(**wanted), "PATCH"))

    def try_extend(self, ref: str, **wanted: Any) -> SeriesForeseen:
        """Return what ``extend`` would do with the same arguments. Nothing is booked."""
        document = self._transport.request_document(
            "PATCH", self._path(ref), query=DRY_RUN, body=_extension(**wanted)
        )
        return SeriesForeseen.of(document)

    def update(
        self,
        ref: str,
        *,
        length: datetime.timedelta | None = None,
        count: int | None = None,
        **texts: str | None,
    ) -> Series:
        """Change the reservations of a series that haven't begun, and what further ones get.

        :param texts: ``name``, ``note``, ``contact``, ``webhook`` or ``before_end``, as for a
            reservation.
        :returns: the series. Its ``refused`` lists the reservations that couldn't be changed.
        """
        body = _change(length, count, texts)
        return Series.of(self._transport.request_document("PATCH", self._path(ref), body=body))

    def try_update(self, ref: str, **values: Any) -> SeriesForeseen:
        """Return what ``update`` would do with the same arguments. Nothing is changed."""
        length, count = values.pop("length", None), values.pop("count", None)
        document = self._transport.request_document(
            "PATCH", self._path(ref), query=DRY_RUN, body=_change(length, count, values)
        )
        return SeriesForeseen.of(document)

    def delete(self, ref: str, *, running: bool = False) -> bool:
        """End a series: delete its reservations that haven't begun.

        :param running: delete the running ones too.
        :returns: True if they are deleted. False if the deletion isn't finished yet.
        """
        return self._remove(ref, running=running or None)

    def _id(self, ref: str) -> str:
        return lookup.series(self, ref)


def _body(
    flavor: str,
    *,
    start: datetime.datetime,
    timezone: str,
    length: datetime.timedelta,
    rrule: str,
    count: int = 1,
    all_or_none: bool = False,
    **optional: Any,
) -> dict[str, Any]:
    excepted = _excepted(optional.pop("exdates", ()))
    if unknown := optional.keys() - set(_OPTIONAL):
        raise TypeError(f"unknown fields: {', '.join(sorted(unknown))}")
    return {
        "flavor_id": flavor,
        "start": _local(start),
        "timezone": timezone,
        "hours": length / times.HOUR,
        "rrule": rrule,
        "instance_count": count,
        "all_or_none": all_or_none,
        **excepted,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _excepted(exdates: Sequence[datetime.date]) -> dict[str, list[str]]:
    """What is left out. A ``datetime`` is one start, and any other ``date`` is the whole day."""
    given = [_local(d) if isinstance(d, datetime.datetime) else d.isoformat() for d in exdates]
    return {"exdates": given} if given else {}


def _extension(
    *,
    more: int | None = None,
    until: datetime.datetime | None = None,
    missing: bool | None = None,
    exdates: Sequence[datetime.date] = (),
) -> dict[str, Any]:
    given = {"more": more, "until": None if until is None else _local(until), "missing": missing}
    return {n: v for n, v in given.items() if v is not None} | _excepted(exdates)


def _change(
    length: datetime.timedelta | None, count: int | None, given: Mapping[str, str | None]
) -> dict[str, Any]:
    hours = length / times.HOUR if length else None
    values = {"hours": hours, "instance_count": count, **given}
    return {n: None if v == "" else v for n, v in values.items() if v is not None}


def _local(moment: datetime.datetime) -> str:
    if moment.tzinfo is not None:
        raise TypeError("a series has local times, without a time zone")
    return moment.isoformat(timespec="minutes")
