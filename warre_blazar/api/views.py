"""The documents that the API answers with, made from this package's objects."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from warre_blazar import texts, times
from warre_blazar.db.records.usage import UsageFilter
from warre_blazar.domain.audit.differences import Difference, KeptDifference, LastAudit
from warre_blazar.domain.booking import reservation_states
from warre_blazar.domain.booking.quota import HOURS, RESERVATIONS, UNLIMITED, Amount
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.flavors.capacity import HostLimit
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.maintenance import MaintenanceWindow, Meeting
from warre_blazar.domain.records.changes import Change
from warre_blazar.domain.records.refusals import RefusedRequest
from warre_blazar.domain.records.usage import Amounts, Sum
from warre_blazar.domain.running import backing_names, handles
from warre_blazar.domain.running.holders import Holder, Inside
from warre_blazar.domain.running.snapshots import NOTHING, ServerSnapshot, effective_before_end
from warre_blazar.domain.series.series import BookedSeries, PlannedOccurrence, SeriesStatus
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import WaitState
from warre_blazar.fields import audit as fields_of_audit
from warre_blazar.fields import flavors, others, reservations, waits
from warre_blazar.fields import series as fields_of_series
from warre_blazar.fields import usage as fields_of_usage
from warre_blazar.fields.declaration import Field, Resource, Use, answered
from warre_blazar.fields.kinds import Time
from warre_blazar.services.booking.dry_run import Foreseen
from warre_blazar.services.booking.quotas import QuotaStanding
from warre_blazar.services.flavors.capacity import Capacity, FlavorLimits
from warre_blazar.services.hosts.host_status import HostStatus
from warre_blazar.services.series import occurrences as refused_occurrences
from warre_blazar.services.series.occurrences import SeriesOutcome
from warre_blazar.services.waits.waits import WaitStatus
from warre_blazar.texts import Said

#: A function that says whether the caller of a request gets a field.
FieldFilter = Callable[[Field[Any]], bool]


def everything(_: Field[Any]) -> bool:
    """Sees all fields."""
    return True


def document(
    resource: type[Resource], values: Mapping[str, Any], sees: FieldFilter
) -> dict[str, Any]:
    """A resource's document: the fields that the caller gets.

    :param values: the values of the fields by attribute, and perhaps others.
    """
    return {
        field.name: field.kind.to_json(values[field.key])
        for field in answered(resource)
        if (field.key in values or Use.SOMETIMES not in field.use) and sees(field)
    }


def flavor(item: Flavor, sees: FieldFilter = everything) -> dict[str, Any]:
    """A flavor as it is inside a reservation."""
    return document(flavors.FlavorFields, item.values, sees)


def offered(item: Flavor, hosts: int, sees: FieldFilter) -> dict[str, Any]:
    """A flavor, and whether it can be booked.

    :param hosts: the number of hosts that could hold an instance of the flavor.
    """
    values = {"bookable": item.active and hosts > 0, "bookable_hosts": hosts}
    return document(flavors.FlavorOffered, {**item.values, **values}, sees)


def capacity(item: Capacity) -> dict[str, Any]:
    """A flavor's capacity."""
    return {
        **span(item.window),
        "hosts": [{"name": r.host.name, "instances": r.instances} for r in item.rooms],
        "instances": item.instances,
        "bookable_instances": item.bookable,
        "booked_now": item.booked_now,
        "booked_peak": item.booked_peak,
        "utilisation": item.utilisation,
        "sharing": [
            {"id": s.flavor.id, "name": s.flavor.name, "hosts": s.hosts} for s in item.sharing
        ],
    }


def flavor_limits(item: FlavorLimits) -> dict[str, Any]:
    """The limits on how many instances of a flavor can be booked at the same time, by host."""
    return {
        "by": "slots" if item.by_slots else "hosts",
        "instances": item.instances,
        "hosts": [
            {
                "name": each.host.name,
                "state": item.states[each.host.id].value,
                "instances": each.instances,
                "limits": [_limit(limit) for limit in each.tightest],
            }
            for each in item.hosts
        ],
    }


def _limit(item: HostLimit) -> dict[str, Any]:
    return {
        "kind": item.kind.name.lower(),
        "name": item.name,
        "providers": list(item.providers),
        "asked": item.asked,
        "capacity": item.capacity,
        "have": item.have,
    }


def reservation(
    item: Reservation,
    its_flavor: Flavor,
    sees: FieldFilter = everything,
    default: str = NOTHING,
    flavor_document: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A reservation with its flavor.

    A deleted reservation is DELETED. The document also says when it was deleted, by whom, and which
    status it had then.

    :param default: what the site's configuration says is done with servers before the end.
    :param flavor_document: the flavor's document. A list makes it once. None: it is made here.
    """
    values = {
        **vars(item),
        **vars(item.span),
        **vars(item.labels),
        "flavor": flavor_document or flavor(its_flavor, sees),
        "status": item.state,
        "before_end": effective_before_end(item.before_end, its_flavor.before_end, default),
        "lease_id": item.lease_id or None,
        "compute_flavor": _compute_flavor(item),
        **handles.values_of(item.handle),
    }
    if item.deleted_at is None:
        del values["deleted_at"], values["deleted_by"]
    else:
        values |= {"status": reservation_states.DELETED, "status_at_deletion": item.state}
    if item.idle_since is None:
        del values["idle_since"]
    if item.change_count is None:
        del values["change_count"], values["changed_at"]
    return document(reservations.ReservationFields, values, sees)


def snapshots(items: Sequence[ServerSnapshot]) -> dict[str, Any]:
    """The field with the snapshots of a reservation's servers. It is left out if there are none."""
    return {"snapshots": [item.document() for item in items]} if items else {}


def servers(inside: Inside | None, project_id: str | None = None) -> dict[str, Any]:
    """The field with the servers in a reservation. None: they aren't known.

    :param project_id: the project of the servers. None: those of all projects.
    """
    if inside is None:
        return {"servers": None}
    here = [(each.id, each, False) for each in inside.servers]
    moved = [(each.server_id, each.server, True) for each in inside.moved_out]
    of_project = (
        each
        for each in (*here, *moved)
        if project_id is None or (each[1] and each[1].project_id == project_id)
    )
    return {
        "servers": [
            {
                "id": server_id,
                "name": server and server.name,
                "status": server and server.status,
                "moved_out": moved_out,
            }
            for server_id, server, moved_out in of_project
        ]
    }


def warnings(items: Sequence[Said]) -> dict[str, Any]:
    """The field with the warnings about a reservation. It is left out if there are none."""
    return {"warnings": [item.document for item in items]} if items else {}


def zone(names: Sequence[str] | None) -> dict[str, Any]:
    """The field with the zone to boot servers in. None: it is left out."""
    return {} if names is None else {"availability_zone": ",".join(names) or None}


def change(item: Change) -> dict[str, Any]:
    """A change of a reservation."""
    return {
        "at": _time(item.at),
        "user_id": item.user_id,
        "change": item.kind.value,
        "before": item.before,
        "after": item.after,
    }


def _compute_flavor(item: Reservation) -> str | None:
    if item.state == reservation_states.PENDING_CREATE:
        return None
    # For a new reservation, perhaps no row with the Nova flavor's id has been written yet. In that
    # case the id of the Nova flavor is derived from the reservation's id.
    made = None if item.is_record else backing_names.nova_flavor_id(item.reservation_id)
    return item.nova_flavor or made


def span(item: Span) -> dict[str, Any]:
    """A span of time."""
    return {"start": Time().to_json(item.start), "end": Time().to_json(item.end)}


def foreseen(item: Foreseen, *, with_hosts: bool, warnings: Sequence[Said] = ()) -> dict[str, Any]:
    """What a booking or a change would do.

    :param with_hosts: whether the caller may see the names of hosts.
    """
    hosts = [{"name": name, "instances": n} for name, n in sorted(item.hosts.items())]
    return {
        "bookable": not item.refusals,
        "refusals": [error.document for error in item.refusals],
        "warnings": [each.document for each in warnings],
        "flavor": flavor(item.flavor),
        "instance_count": item.count,
        "affinity": item.affinity,
        "before_end": item.before_end,
        **span(item.span),
        **({"hosts": hosts} if with_hosts else {}),
        "quota": None if item.standing is None else _quota(item.standing, item.cost),
        "next_start": Time().to_json(item.next_start),
        "wait_start": Time().to_json(item.wait_start),
        "longest_hours": item.longest / times.HOUR,
        "most_instances": item.most,
        "own": item.own_documents,
    }


def _quota(standing: QuotaStanding, cost: Amount) -> dict[str, Any]:
    limits, used, asked = standing.limits.by_name(), standing.used.by_name(), cost.by_name()
    return {
        _IN_LIMITS[name]: {
            "cost": asked[name],
            "left": None if limit == UNLIMITED else limit - used[name] - asked[name],
        }
        for name, limit in limits.items()
    }


#: The seconds of an hour.
_HOUR = times.HOUR // times.SECOND
#: How documents name what Keystone limits.
_IN_LIMITS = {RESERVATIONS: "reservations", HOURS: "hours"}


def host(item: HostStatus) -> dict[str, Any]:
    """A host, for operators."""
    drain = item.marks.drain
    return {
        "id": item.host.id,
        "name": item.host.name,
        "availability_zone": item.host.availability_zone,
        "state": item.state.value,
        "draining": drain and {"by": drain.by, "at": _time(drain.at), "reason": drain.reason},
        "providers_read_at": _time(item.marks.read_at),
        "resources": [
            {
                "resource_class": use.resource_class,
                "capacity": use.capacity,
                "used_now": use.now,
                "used_peak": use.peak,
            }
            for use in item.uses
        ],
        "reservations": [
            {
                "id": each.shown_id,
                "resource_type": each.resource_type,
                "flavor": each.flavor_id and {"id": each.flavor_id, "name": each.flavor_name},
                "project_id": each.project_id,
                "user_id": each.user_id,
                "status": each.state,
                "instance_count": each.instances,
                **span(Span(each.start, each.end)),
            }
            for each in item.reservations
        ],
    }


def room_taken(differences: Sequence[Difference] | None) -> list[dict[str, Any]] | None:
    """Who has taken room of a host. None: it isn't known."""
    if differences is None:
        return None
    taken: Sequence[tuple[Difference, Holder]] = [(each, each.details) for each in differences]
    return [
        {
            "kind": holder.kind.value,
            "consumer_id": holder.consumer,
            "server_id": holder.server_id,
            "server_name": holder.server and holder.server.name,
            "project_id": holder.server and holder.server.project_id,
            "resources": dict(holder.resources),
            "text": each.text,
            "remedy": each.rule.remedy,
            "needs": str(each.rule.needs),
        }
        for each, holder in taken
    ]


def series(
    item: BookedSeries,
    its_flavor: Flavor,
    occurrences: Sequence[Reservation] | None = None,
    planned: Sequence[PlannedOccurrence] = (),
) -> dict[str, Any]:
    """A series.

    :param occurrences: its reservations. None: the document doesn't list them.
    :param planned: what was asked for.
    """
    booking, recurrence = item.booking, item.recurrence
    values: dict[str, Any] = {
        **vars(item),
        **vars(booking),
        **vars(booking.labels),
        **vars(recurrence),
        "flavor": {"id": its_flavor.id, "name": its_flavor.name},
        "instance_count": booking.count,
        "hours": recurrence.length / times.HOUR,
        "rrule": recurrence.rule,
        "cut_off": recurrence.is_endless,
        **handles.values_of(booking.handle),
        "status": item.status.value,
    }
    if occurrences is not None:
        values["reservations"] = [
            {"id": each.id, **span(each.span), "status": each.state} for each in occurrences
        ]
        left = [each for each in planned if each.reservation_id is None]
        values["missing"] = [_unbooked(each, item.status) for each in left]
    return document(fields_of_series.SeriesFields, values, everything)


def _unbooked(item: PlannedOccurrence, status: SeriesStatus) -> dict[str, Any]:
    """An occurrence without a reservation."""
    begun = status is SeriesStatus.BOOKING and item.refusal is None
    none: dict[str, Any] = {"code": None, "message": None, "detail": {}}
    interrupted = texts.refusals.SERIES_INTERRUPTED().document
    refusal = item.refusal or (none if begun or item.deleted_at else interrupted)
    return {
        **span(item.span),
        "state": "dropped" if item.deleted_at else "planned" if begun else "missing",
        **refusal,
        "deleted_at": _time(item.deleted_at),
        "deleted_by": item.deleted_by,
    }


def series_foreseen(item: SeriesOutcome) -> dict[str, Any]:
    """What a request to book occurrences would do."""
    return {
        "bookable": not item.refused
        if item.series.all_or_none
        else len(item.refused) < len(item.spans),
        "occurrences": [span(each) for each in item.spans],
        "refused": [refused_occurrences.document(each) for each in item.refused],
    }


def _time(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else Time().to_json(moment)


def window(
    item: MaintenanceWindow, sees: FieldFilter, meetings: Sequence[Meeting] | None = None
) -> dict[str, Any]:
    """A maintenance window.

    :param meetings: the reservations that the window met. None: the request didn't ask for them.
    """
    closed = {
        name: [{"id": each_id, "name": its_name} for each_id, its_name in pairs]
        for name, pairs in (("flavors", item.flavors), ("hosts", item.hosts))
    }
    shown = document(others.WindowFields, {**vars(item), **vars(item.span), **closed}, sees)
    if meetings is None:
        return shown
    return {**shown, "reservations": [_meeting(each) for each in meetings]}


def _meeting(item: Meeting) -> dict[str, Any]:
    after = span(item.span)
    return {
        "id": item.reservation.id,
        "project_id": item.reservation.project_id,
        "flavor": {"id": item.flavor.id, "name": item.flavor.name},
        "instance_count": item.reservation.instance_count,
        **span(item.reservation.span),
        "outcome": item.outcome.value,
        "new_start": after["start"],
        "new_end": after["end"],
        "reason": item.reason,
    }


def usage(
    wanted: UsageFilter, by: str | None, sums: Mapping[Any, Sum], flavor_names: Mapping[str, str]
) -> dict[str, Any]:
    """Usage, with a row for each key.

    :param flavor_names: the names of the flavors, by id.
    """
    rows = [_usage_row(by, key, sums[key], flavor_names) for key in sorted(sums, key=_sortable)]
    return {**span(wanted.window), "by": by, "results": rows}


def _sortable(key: object) -> str:
    return "" if key is None else str(key)


def _usage_row(
    by: str | None, key: Any, item: Sum, flavor_names: Mapping[str, str]
) -> dict[str, Any]:
    values = {
        "project_id": key if by == "project" else None,
        "user_id": key if by == "user" else None,
        "flavor_id": key if by == "flavor" else None,
        "flavor": flavor_names.get(key) if by == "flavor" else None,
        "day": key.isoformat() if isinstance(key, datetime.date) else None,
        "reservations": item.reservations,
        "hours": _hours(item.instances),
        "resource_hours": {name: _hours(n) for name, n in sorted(item.resources.items())},
        "refusals": dict(sorted(item.refusals.items())),
    }
    return document(fields_of_usage.UsageFields, values, everything)


def _hours(seconds: Amounts) -> dict[str, float]:
    return {name: amount / _HOUR for name, amount in seconds._asdict().items()}


def refusal(item: RefusedRequest, sees: FieldFilter) -> dict[str, Any]:
    """A request that was refused."""
    values = {
        **vars(item),
        **vars(item.span),
        "flavor": item.flavor_name,
        "instance_count": item.count,
    }
    return document(fields_of_usage.RefusalFields, values, sees)


def wait(item: WaitStatus, sees: FieldFilter) -> dict[str, Any]:
    """A wait, with its position in line."""
    it = item.wait
    hours = it.length / times.HOUR
    values = {
        **vars(it),
        **vars(it.labels),
        "flavor": item.flavor.name if item.flavor else None,
        "hours": int(hours) if hours == int(hours) else round(hours, 6),
        "earliest": it.window.start,
        "latest": it.window.end,
        "mode": it.mode.value,
        "status": it.state.value,
        "position": item.position,
        "reservation_id": it.reservation_id if it.state is WaitState.BOOKED else None,
        "found_flavor": item.found.name if item.found else None,
        "found_start": it.found.start if it.found else None,
        "found_end": it.found.end if it.found else None,
    }
    return document(waits.WaitFields, values, sees)


def audit(report: LastAudit | None) -> dict[str, Any]:
    """When the last audit has finished, and what it couldn't compare."""
    away = report.away if report else {}
    return {
        "finished_at": _time(report.finished_at) if report else None,
        "away": [{"service": name, "reason": reason} for name, reason in sorted(away.items())],
        "found": report.total if report else 0,
    }


def audit_finding(item: KeptDifference) -> dict[str, Any]:
    """A difference that an audit has found."""
    return document(fields_of_audit.AuditFindingFields, vars(item), everything)


def messages(enabled: bool, *, sends: bool, more: Mapping[str, str | None]) -> dict[str, Any]:
    """Whether a user gets messages, and where they go.

    :param more: the fields that only some answers have.
    """
    values = {"enabled": enabled, "sends": sends, **more}
    return document(others.MessagesFields, values, everything)


def limits(item: QuotaStanding, sees: FieldFilter) -> dict[str, Any]:
    """A project's limits, and how much of them the project uses."""
    values = {
        "max_hours": item.limits.hours,
        "max_reservations": item.limits.reservations,
        "total_hours_used": item.used.hours,
        "total_reservations_used": item.used.reservations,
        "own": sorted(_IN_LIMITS[name] for name in item.own),
    }
    return {"absolute": document(others.LimitsFields, values, sees)}


def project_limits(item: QuotaStanding, sees: FieldFilter) -> dict[str, Any]:
    """A project's limits in a listing of all projects, with the project's id."""
    return {"project_id": item.project_id, **limits(item, sees)}
