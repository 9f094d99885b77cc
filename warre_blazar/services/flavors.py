"""Offering flavors: create, find, change, delete."""

import datetime
from collections.abc import Mapping
from typing import Any

from oslo_db import exception as db_exc
from oslo_utils import uuidutils

from warre_blazar import exceptions
from warre_blazar.db import flavors, reservations, session
from warre_blazar.domain import flavor as terms
from warre_blazar.domain import requirements
from warre_blazar.domain.flavor import Flavor

#: Attributes of a flavor that are called otherwise in the table.
_COLUMNS = {"start": "start_date", "end": "end_date"}


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    try:
        requirements.parse(values.get("properties"))
    except ValueError as error:
        raise exceptions.InvalidField("properties", str(error)) from error
    try:
        terms.check_extra_specs(values.get("extra_specs", {}))
    except ValueError as error:
        raise exceptions.InvalidField("extra_specs", str(error)) from error
    return {_COLUMNS.get(k, k): v for k, v in values.items()}


def _check_period(start: datetime.datetime | None, end: datetime.datetime | None) -> None:
    if start is not None and end is not None and end <= start:
        raise exceptions.InvalidField("end", "expected a time after the flavor's start")


def create(values: Mapping[str, Any], now: datetime.datetime) -> Flavor:
    """Add a flavor.

    :param values: all attributes of a Flavor and its Shape but id and generation.
    :raises InvalidField: properties or extra_specs that don't parse, an end before the start.
    :raises FlavorExists: the name is taken.
    """
    columns = _checked(values)
    _check_period(values["start"], values["end"])
    flavor_id = uuidutils.generate_uuid()
    try:
        with session.writer() as db:
            flavors.insert(db, {"id": flavor_id, **columns}, now)
    except db_exc.DBDuplicateEntry:
        raise exceptions.FlavorExists(values["name"]) from None
    return get(flavor_id, project_id=None, everything=True)


def get(ref: str, *, project_id: str | None, everything: bool) -> Flavor:
    """A flavor by id or name.

    :param everything: also a private one that the project was given no access to.
    :raises FlavorNotFound:
    """
    with session.reader() as db:
        return _find(db, ref, project_id=project_id, everything=everything)


def _find(db: Any, ref: str, *, project_id: str | None, everything: bool) -> Flavor:
    found = flavors.find(db, ref)
    if found is None or not (everything or flavors.is_accessible(db, found, project_id)):
        raise exceptions.FlavorNotFound(ref)
    return found


def listing(
    *,
    project_id: str | None,
    everything: bool,
    filters: Mapping[str, Any],
    limit: int | None,
    offset: int,
) -> tuple[list[Flavor], int]:
    """A page of flavors by name, and how many there are in all.

    :param everything: inactive ones and others' private ones too.
    :param filters: attributes that must be equal.
    """
    with session.reader() as db:
        return flavors.listing(
            db,
            project_id=project_id,
            everything=everything,
            filters=filters,
            limit=limit,
            offset=offset,
        )


@session.retried
def update(ref: str, values: Mapping[str, Any]) -> Flavor:
    """Change a flavor's terms; reservations that are booked keep what they were booked with.

    :raises FlavorNotFound, InvalidField, FlavorExists:
    """
    columns = _checked(values)
    try:
        with session.writer() as db:
            found = _find(db, ref, project_id=None, everything=True)
            _check_period(values.get("start", found.start), values.get("end", found.end))
            flavors.update(db, found, columns)
            return _find(db, found.id, project_id=None, everything=True)
    except db_exc.DBDuplicateEntry:
        raise exceptions.FlavorExists(values["name"]) from None


@session.retried
def delete(ref: str) -> None:
    """Delete a flavor whose reservations are all complete; the history still names it.

    :raises FlavorNotFound, FlavorInUse:
    """
    with session.writer() as db:
        found = _find(db, ref, project_id=None, everything=True)
        live = reservations.live_count(db, found.id)
        if live:
            raise exceptions.FlavorInUse(found.id, live)
        flavors.delete(db, found)
