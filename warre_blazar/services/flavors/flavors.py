"""Flavors: creates, finds, changes and deletes them, and grants access to private ones."""

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any

from oslo_db import exception as db_exc
from oslo_log import log as logging
from oslo_utils import timeutils, uuidutils

from warre_blazar import texts
from warre_blazar.db import flavors, foreseeing, generations, session
from warre_blazar.db.booking import reservations
from warre_blazar.domain.booking.weekly_hours import WeeklyHours
from warre_blazar.domain.etags import NOT_SAID, Shown, of_flavor
from warre_blazar.domain.flavors import devices as device_domain
from warre_blazar.domain.flavors import flavor as flavor_rules
from warre_blazar.domain.flavors.devices import NO_DEVICES, Rules
from warre_blazar.domain.flavors.flavor import Flavor, ProjectAccess, Shape
from warre_blazar.domain.hosts import host_properties
from warre_blazar.errors import exceptions
from warre_blazar.services.flavors import bootable, capacity, devices
from warre_blazar.texts import Said, warnings

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Written:
    """A flavor that was made or changed, and what its operator should know about it."""

    flavor: Flavor
    doubts: tuple[Said, ...] = ()


#: The columns of a flavor's attributes, by attribute. Only attributes whose columns have another
#: name are listed.
_COLUMNS = {"start": "start_date", "end": "end_date"}


def _checked(values: Mapping[str, Any], vcpu: int, device_rules: Rules) -> dict[str, Any]:
    """Check values for a flavor, and return them by column name.

    If the values have extra specs, the result also has the request groups of their devices.

    :param vcpu: the flavor's virtual CPUs. The extra specs must agree with this number.
    """
    try:
        if "properties" in values and not host_properties.parse(values["properties"]):
            values = {**values, "properties": None}
    except texts.NotValid as error:
        raise exceptions.InvalidField("properties", error.expected) from error
    try:
        flavor_rules.check_extra_specs(values.get("extra_specs", {}), vcpu)
    except texts.NotValid as error:
        raise exceptions.InvalidField(
            "extra_specs", texts.extra_specs.NOT_VALID(spec=error.expected)
        ) from error
    _check_weekly_hours(values.get("weekly_hours"))
    columns = {_COLUMNS.get(k, k): v for k, v in values.items()}
    if "extra_specs" in values:
        groups = devices.resolve(values["extra_specs"], device_rules)
        columns["device_groups"] = device_domain.to_column(groups)
    return columns


def _check_boots(shape: Shape) -> tuple[Said, ...]:
    """Refuse a shape of which no server could ever boot.

    :returns: what is in doubt although the shape isn't refused.
    """
    verdict = bootable.check(shape)
    if verdict.refusals:
        refusals = [error.document for error in verdict.refusals]
        raise exceptions.InvalidField(
            "extra_specs", texts.extra_specs.NOT_BOOTABLE(refusals=refusals)
        )
    return verdict.doubts


def _check_devices(shape: Shape, flavor: Flavor | None = None) -> None:
    """Refuse a shape whose servers may take devices that servers of another flavor need.

    What the flavor has in common with other flavors already is left as it is.

    :param flavor: the flavor that is to get the shape. None: a new one.
    """
    flavor_id = flavor.id if flavor else None
    before = bootable.unlike_flavors(flavor.shape, flavor_id) if flavor and flavor.active else {}
    for name, classes in bootable.unlike_flavors(shape, flavor_id).items():
        if new := sorted(set(classes) - set(before.get(name, ()))):
            raise exceptions.InvalidField(
                "extra_specs", texts.extra_specs.DEVICES_SHARED(flavor=name, classes=new)
            )


def _check_cpus(vcpu: int, extra_specs: Mapping[str, str]) -> None:
    """Check that extra specs agree with the flavor's number of virtual CPUs."""
    try:
        flavor_rules.check_extra_specs(extra_specs, vcpu)
    except texts.NotValid as error:
        raise exceptions.InvalidField(
            "extra_specs", texts.extra_specs.NOT_VALID(spec=error.expected)
        ) from error


def _check_weekly_hours(text: str | None) -> None:
    try:
        if text is not None:
            WeeklyHours.parse(text)
    except texts.NotValid as error:
        raise exceptions.InvalidField("weekly_hours", error.expected) from error


def _check_period(start: datetime.datetime | None, end: datetime.datetime | None) -> None:
    if start is not None and end is not None and end <= start:
        raise exceptions.InvalidField("end", texts.expected.AFTER_START())


def _check_idle(values: Mapping[str, Any]) -> None:
    warn, end = values.get("idle_warn_hours"), values.get("idle_end_hours")
    if warn is not None and end is not None and end <= warn:
        raise exceptions.InvalidField(
            "idle_end_hours", texts.expected.GREATER_THAN(other="idle_warn_hours")
        )


def create(
    values: Mapping[str, Any],
    now: datetime.datetime,
    device_rules: Rules = NO_DEVICES,
    flavor_id: str | None = None,
    *,
    dry_run: bool = False,
) -> Written:
    """Create a flavor.

    :param values: all attributes of a Flavor and its Shape, except ``id``, ``generation``
        and ``device_groups``.
    :param device_rules: what aliases and device profiles stand for.
    :param flavor_id: the id for the new flavor. None: any new id.
    :param dry_run: whether to write nothing, and to return the flavor as it would be.
    :raises InvalidField: properties or extra_specs can't be parsed, or no server with these extra
        specs could ever boot, or the end isn't after the start.
    :raises DeviceNotCountable: extra_specs name devices that can't be counted.
    :raises ServiceUnavailable, ServiceRefused: Cyborg doesn't say what the devices are.
    """
    _check_idle(values)
    columns = _checked(values, values["vcpu"], device_rules)
    _check_period(values["start"], values["end"])
    _check_cpus(values["vcpu"], values["extra_specs"])
    doubts = _check_boots(flavors.shape_of(columns))
    _check_devices(flavors.shape_of(columns))
    flavor_id = flavor_id or uuidutils.generate_uuid()

    def write() -> Written:
        session.change(flavors.insert, {"id": flavor_id, **columns}, now)
        flavor = get(flavor_id, project_id=None, everything=True)
        return _written(flavor, doubts)

    return _foreseen(write, columns) if dry_run else write()


def _foreseen(write: Callable[[], Written], columns: Mapping[str, Any]) -> Written:
    with session.reader() as db:
        flavors.compare(db, columns)
    return foreseeing.foreseen(write)


def _namesakes(flavor: Flavor) -> list[Said]:
    """The doubt about a flavor that has the same name as other flavors."""
    with session.reader() as db:
        others = [each.id for each in flavors.find(db, flavor.name) if each.id != flavor.id]
    if not others:
        return []
    entry = warnings.NAME_TAKEN if len(others) == 1 else warnings.NAMES_TAKEN
    return [entry(flavors=others, name=flavor.name)]


def find_created(flavor_id: str) -> Written | None:
    """A flavor that a request has created, even if it was deleted since, or None."""
    with session.reader() as db:
        flavor = flavors.get_many(db, {flavor_id}).get(flavor_id)
    return _written(flavor, _check_boots(flavor.shape)) if flavor else None


def _written(flavor: Flavor, doubts: tuple[Said, ...]) -> Written:
    """Log what is in doubt about a flavor that was made or changed, and return both."""
    doubts = (
        *_namesakes(flavor),
        *doubts,
        *bootable.shared_devices(flavor),
        *bootable.no_hosts(),
        *bootable.unknown_properties(flavor.shape),
        *bootable.unknown_zone(flavor.shape),
        *capacity.doubts_about_slots(flavor, timeutils.utcnow()),
        *capacity.doubts_about_projects(flavor, timeutils.utcnow()),
    )
    for doubt in doubts:
        LOG.warning("Flavor %s (%s): %s", flavor.name, flavor.id, doubt)
    return Written(flavor, doubts)


def get(ref: str, *, project_id: str | None, everything: bool) -> Flavor:
    """The flavor with this id, or the only flavor with this name.

    :param project_id: the project that must have access to the flavor if it is private.
    :param everything: whether to find a private flavor even if the project has no access to it.
    :raises FlavorNotFound, FlavorAmbiguous:
    """
    with session.reader() as db:
        return flavors.require(db, ref, project_id=project_id, everything=everything)


def listing(
    *,
    project_id: str | None,
    everything: bool,
    filters: Mapping[str, Any],
    limit: int | None,
    offset: int,
) -> tuple[list[Flavor], int]:
    """A page of flavors sorted by name and memory, and the number of flavors on all pages.

    :param project_id: private flavors to which this project has access are included.
    :param everything: whether to also include inactive flavors, and private flavors to which the
        project has no access.
    :param filters: the values that the flavors' attributes must have, by attribute.
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


def update(
    ref: str,
    values: Mapping[str, Any],
    device_rules: Rules = NO_DEVICES,
    shown: Shown = NOT_SAID,
    *,
    dry_run: bool = False,
) -> Written:
    """Change a flavor. Existing reservations keep the shape that they were booked with.

    :param ref: the flavor's id or name.
    :param values: the attributes to change.
    :param device_rules: the same as for ``create``. So is ``dry_run``.
    :param shown: what the caller was shown of the flavor.
    :raises FlavorNotFound, FlavorAmbiguous, InvalidField, DeviceNotCountable, ChangedSinceShown:
    :raises ServiceUnavailable, ServiceRefused: Cyborg doesn't say what the devices are.
    """
    with session.reader() as db:
        flavor = flavors.require(db, ref)
    shown.check(flavor.id, of_flavor(flavor))
    shape = flavor.shape
    columns = _checked(values, shape.vcpu, device_rules)
    is_of_boots = "extra_specs" in values
    after = flavors.shape_of({**vars(shape), **columns}) if is_of_boots else shape
    doubts = _check_boots(after) if is_of_boots else ()
    if is_of_boots or (values.get("active") and not flavor.active):
        _check_devices(after, flavor)

    def write() -> Written:
        flavor = _write(ref, values, columns, shown)
        if is_of_boots:
            return _written(flavor, doubts)
        now, found = timeutils.utcnow(), bootable.no_hosts()
        if "name" in values:
            found += _namesakes(flavor)
        if "properties" in values:
            found += bootable.unknown_properties(flavor.shape)
        if "availability_zone" in values:
            found += bootable.unknown_zone(flavor.shape)
        if "slots" in values:
            found += capacity.doubts_about_slots(flavor, now)
        if "max_instances_per_project" in values:
            found += capacity.doubts_about_projects(flavor, now)
        return Written(flavor, tuple(found))

    return _foreseen(write, columns) if dry_run else write()


def _check_resolved(shape: Shape) -> None:
    """Check that the devices of an imported flavor are counted before the flavor becomes active.

    :raises DeviceNotCountable: the devices were never resolved.
    """
    named = device_domain.named(shape.extra_specs)
    if named and not shape.device_groups:
        raise exceptions.DeviceNotCountable(
            *next(iter(named.items())), texts.extra_specs.NEVER_RESOLVED()
        )


@session.retried
def _write(ref: str, values: Mapping[str, Any], columns: Mapping[str, Any], shown: Shown) -> Flavor:
    with session.writer() as db:
        flavor = flavors.require(db, ref)
        shown.check(flavor.id, of_flavor(flavor))
        _check_period(values.get("start", flavor.start), values.get("end", flavor.end))
        _check_idle({**vars(flavor), **values})
        _check_cpus(flavor.shape.vcpu, values.get("extra_specs", {}))
        if values.get("active") and "extra_specs" not in values:
            _check_resolved(flavor.shape)
        generations.increase_flavor(db, flavor, columns)
        return flavors.require(db, flavor.id)


@session.retried
def delete(ref: str) -> None:
    """Delete a flavor whose reservations are all complete.

    These reservations can still be listed with the flavor's name.

    :param ref: the flavor's id or name.
    :raises FlavorNotFound, FlavorAmbiguous, FlavorInUse:
    """
    with session.writer() as db:
        flavor = flavors.require(db, ref)
        live_reservations = reservations.live_count(db, flavor.id)
        if live_reservations:
            raise exceptions.FlavorInUse(flavor.id, live_reservations)
        flavors.delete(db, flavor)


@session.retried
def grant_access(flavor_ref: str, project_id: str, access_id: str | None = None) -> ProjectAccess:
    """Give a project access to a private flavor.

    :param flavor_ref: the flavor's id or name.
    :param access_id: the id for the new access. None: any new id.
    :raises FlavorNotFound, FlavorAmbiguous, AccessExists:
    """
    try:
        with session.writer() as db:
            flavor = flavors.require(db, flavor_ref)
            access = ProjectAccess(access_id or uuidutils.generate_uuid(), flavor.id, project_id)
            flavors.insert_access(db, access)
            return access
    except db_exc.DBDuplicateEntry:
        raise exceptions.AccessExists(flavor_ref, project_id) from None


def get_access(access_id: str) -> ProjectAccess:
    """The access with this id.

    :raises AccessNotFound:
    """
    matches, _ = accesses({"id": access_id}, None, 0)
    if not matches:
        raise exceptions.AccessNotFound(access_id)
    return matches[0]


def accesses(
    filters: dict[str, str], limit: int | None, offset: int
) -> tuple[list[ProjectAccess], int]:
    """A page of accesses sorted by flavor and project, and the number of accesses on all pages.

    :param filters: the names and values of attributes that the returned accesses must have.
    """
    with session.reader() as db:
        return flavors.accesses(db, filters, limit, offset)


@session.retried
def revoke_access(access_id: str) -> None:
    """Delete a project's access. The project keeps its reservations of the flavor.

    :raises AccessNotFound:
    """
    with session.writer() as db:
        if not flavors.delete_access(db, access_id):
            raise exceptions.AccessNotFound(access_id)
