"""The base classes of the collections of the v2 API, and how their requests send values."""

import datetime
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from warre_blazar.client import errors, times
from warre_blazar.client.transport import Transport, path
from warre_blazar.client.types import Document, Page, Value

Time = datetime.datetime
Kind = TypeVar("Kind", bound=Value)
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


def parameters(*names: str, **renamed: str) -> dict[str, str]:
    """Return the API's parameter for each filter. ``renamed`` are those with another name."""
    return {**{name: name for name in names}, **renamed}


def shown_as(etag: str | None) -> dict[str, str]:
    """Return the headers of a change by somebody who was shown the object with this ETag."""
    return {} if etag is None else {"If-Match": etag}


class Collection:
    #: The collection's name in paths.
    noun = ""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _path(self, ref: str) -> str:
        """Return the path of one object."""
        return path(self.noun, self._id(ref))

    def _id(self, ref: str) -> str:
        """Return the id of an object that a user has named."""
        return ref

    def _remove(self, ref: str, **query: Any) -> bool:
        """Delete an object. Return False if the deletion isn't finished yet."""
        try:
            response = self._transport.request("DELETE", self._path(ref), query=query_of(**query))
        except errors.DeletedBefore:
            return True
        return bool(response.status_code != 202)


class Listed(Collection, Generic[Kind]):
    """A collection that can be listed. A call of it does the same as ``list``."""

    #: The class of the objects.
    kind: type[Kind]
    #: The API's parameter for each filter of ``list``.
    filters: Mapping[str, str] = {}

    def __call__(self, **filters: Any) -> list[Kind]:
        return self.list(**filters)

    def list(self, *, limit: int | None = None, **filters: Any) -> list[Kind]:
        """Return the objects, or only the first ``limit`` ones.

        :param filters: those of the collection. A filter that is None has no effect.
        """
        documents = self._transport.list(self.noun, self._query(filters), limit)
        return [self.kind.of(document) for document in documents]

    def _query(self, filters: dict[str, Any]) -> dict[str, str]:
        """The query of a listing. Flags that are False, and empty lists, are left out."""
        if unknown := filters.keys() - self.filters.keys():
            raise TypeError(f"unknown filters: {', '.join(sorted(unknown))}")
        joined = {
            self.filters[name]: ",".join(value) if isinstance(value, list | tuple) else value
            for name, value in filters.items()
            if value not in (False, [], ())
        }
        return query_of(**joined)


class Paged(Listed[Kind]):
    """A collection of which pages can be read."""

    def page(self, number: int = 1, size: int = 50, **filters: Any) -> Page[Kind]:
        """Return one page of what ``list`` returns for the same filters.

        :param number: the number of the page. The first one is 1.
        :param size: the number of objects on each page.
        """
        documents, total = self._transport.page(self.noun, self._query(filters), size, number)
        found = tuple(self.kind.of(document) for document in documents)
        return Page(found, number, size, total)


class Owned(Paged[Kind]):
    """A collection whose objects are created, shown and deleted."""

    def get(self, ref: str) -> Kind:
        """Return one object."""
        return self.kind.of(self._transport.request_document("GET", self._path(ref)))

    def create(self, **values: Any) -> Kind:
        """Create an object. ``values`` are its fields."""
        return self.kind.of(self._transport.create(f"/{self.noun}", values_of(values)))

    def delete(self, ref: str) -> None:
        """Delete an object."""
        self._remove(ref)


class Editable(Listed[Kind]):
    """A collection whose objects operators change, with dry runs."""

    def update(
        self, ref: str, *, dry_run: bool = False, etag: str | None = None, **values: Any
    ) -> Kind:
        """Change fields of an object. A list or a map replaces all values of its field.

        :param dry_run: change nothing, and return the object as it would be.
        :param etag: the ``etag`` of the object as it was shown. If somebody else has changed one of
            these fields since then, the API refuses the change with ``changed_since_shown``.
        """
        return self.kind.of(
            *self._transport.request_tagged(
                "PATCH",
                self._path(ref),
                query=DRY_RUN if dry_run else {},
                body=values_of(values),
                headers=shown_as(etag),
            )
        )

    def delete(self, ref: str) -> None:
        """Delete an object. The API refuses this if a reservation needs it."""
        self._remove(ref)

    def _make(self, body: Document, *, dry_run: bool) -> Kind:
        """Create an object, or return it as it would be. The id of such an object isn't kept."""
        body, where = values_of(body), f"/{self.noun}"
        if dry_run:
            return self.kind.of(
                self._transport.request_document("POST", where, query=DRY_RUN, body=body)
            )
        return self.kind.of(self._transport.create(where, body))
