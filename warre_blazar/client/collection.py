"""The base class of the collections of the v2 API, and how their requests send values."""

import datetime
from typing import Any, TypeVar

from warre_blazar.client import errors, times
from warre_blazar.client.transport import Transport
from warre_blazar.client.types import Document, Page, Value

Time = datetime.datetime
_Kind = TypeVar("_Kind", bound=Value)
#: The query of a dry run.
DRY_RUN = {"dry_run": "true"}


def values_of(given: dict[str, Any]) -> Document:
    """Return the values in the form that the API expects, with times as texts.

    :raises errors.NaiveTime: a time has no time zone.
    """
    return {name: _time(name, v) if isinstance(v, Time) else v for name, v in given.items()}


def _time(name: str, moment: Time) -> str:
    if moment.utcoffset() is None:
        raise errors.NaiveTime(name, moment)
    return moment.isoformat()


def query_of(**given: Any) -> dict[str, str]:
    """Return the parameters that aren't None, as a URL query."""
    query = {k: v for k, v in values_of(given).items() if v is not None}
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in query.items()}


def hours_of(length: datetime.timedelta | None) -> str | None:
    return None if length is None else f"{length / times.HOUR:.6f}"


class Collection:
    #: The collection's name in paths.
    noun = ""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _page(
        self, kind: type[_Kind], query: dict[str, str], number: int, size: int
    ) -> Page[_Kind]:
        """Return one page of what the API lists for a query.

        :param kind: the class of the listed resources.
        """
        documents, total = self._transport.page(self.noun, query, size, number)
        return Page(tuple(kind.of(document) for document in documents), number, size, total)


def shown_as(etag: str | None) -> dict[str, str]:
    """Return the headers of a change by somebody who was shown the object with this ETag."""
    return {} if etag is None else {"If-Match": etag}


def known(filters: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return filters, all of which must have one of these names."""
    unknown = filters.keys() - set(names)
    if unknown:
        raise TypeError(f"unknown filters: {', '.join(sorted(unknown))}")
    return filters
