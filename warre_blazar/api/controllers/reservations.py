"""The controller of /reservations: booking, changing, deleting and listing them."""

from collections.abc import Callable
from typing import Any

import pecan
from oslo_utils import timeutils

from warre_blazar import policy, texts
from warre_blazar.api import parsing, schemas, slot_views, views
from warre_blazar.api.controllers import base
from warre_blazar.db.booking.reservations import Filter
from warre_blazar.domain.booking import labels
from warre_blazar.domain.booking.reservation import Reservation
from warre_blazar.domain.etags import of_reservation
from warre_blazar.domain.flavors.flavor import Flavor
from warre_blazar.domain.running import handles
from warre_blazar.domain.running.snapshots import BeforeEndChoice
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.fields.reservations import ReservationFields
from warre_blazar.policies import reservations as policies
from warre_blazar.services.booking import admission, dry_run, lookup, nova_quotas
from warre_blazar.services.booking.dry_run import Foreseen
from warre_blazar.services.booking.through_manager import change, reservations
from warre_blazar.services.messages import webhooks
from warre_blazar.services.running import shares
from warre_blazar.services.slots import extension
from warre_blazar.site_rules import conditions, contacts

LIST_QUERY = {
    "all_projects": parsing.boolean,
    "project_id": parsing.project_id,
    "user_id": parsing.word,
    "flavor_id": parsing.word,
    "status": parsing.statuses,
    "from": parsing.moment,
    "to": parsing.moment,
    "host": parsing.word,
    "sort": parsing.sort,
    "name": parsing.word,
    "deleted": parsing.boolean,
    "idle": parsing.boolean,
    "series_id": parsing.word,
    "changes": parsing.boolean,
    **base.PAGING,
}
SHOW_QUERY = {"detail": parsing.reservation_detail, "changes": parsing.boolean}
_NOT_IN_WARRE = ("deleted", "idle", "series_id", "changes")
_WARRES_LIST_QUERY = {n: take for n, take in LIST_QUERY.items() if n not in _NOT_IN_WARRE}


class ReservationsController(base.Controller):
    """Reservations: the flavors that projects have booked."""

    _custom_actions = {"extensions": ["GET"]}  # noqa: RUF012

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.LIST)
        known = _WARRES_LIST_QUERY if base.is_warres_path() else LIST_QUERY
        query = parsing.query(pecan.request, known)
        limit, offset = base.page_of(query)
        sort, descending = query.get("sort", ("start", False))
        wanted = _filter(query)
        page, total = lookup.listing(
            wanted,
            host=query.get("host"),
            sort=sort,
            descending=descending,
            limit=limit,
            offset=offset,
            deleted=query.get("deleted", False),
        )
        if query.get("changes"):
            counted = lookup.with_changes([found for found, _ in page])
            page = [(found, flavor) for found, (_, flavor) in zip(counted, page, strict=True)]
        document = _documents()
        documents = [
            document(found, flavor, shared=wanted.project_id not in (None, found.project_id))
            for found, flavor in page
        ]
        return base.listing(documents, total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        query = parsing.query(pecan.request, {} if base.is_warres_path() else SHOW_QUERY)
        with_log = query.get("detail") == "log"
        found, flavor = find(policies.GET, base.item_id(path), deleted=with_log)
        shared = found.project_id != base.context().project_id and not policy.allows(
            base.context(), policies.GET, {"project_id": found.project_id}
        )
        if query.get("changes"):
            (found,) = lookup.with_changes([found])
        document = _tagged(found, flavor, shared=shared)
        sees = base.field_filter()
        if sees(ReservationFields.snapshots):
            made = lookup.snapshots(found)
            own = base.context().project_id
            document |= views.snapshots([s for s in made if not shared or s.project_id == own])
        if sees(ReservationFields.availability_zone):
            document |= views.zone(lookup.zones(found))
        if sees(ReservationFields.warnings) and not shared:
            doubts = [*nova_quotas.of_reservation(found), *webhooks.failures(found)]
            document |= views.warnings(doubts)
        if query.get("detail") == "servers":
            guest = base.context().project_id if shared else None
            document |= views.servers(lookup.inside(found), guest)
        if with_log and not shared:
            document["log"] = [views.change(change) for change in lookup.log(found)]
        return document

    @pecan.expose("json")
    def extensions(self, *path: str, **_query: Any) -> Any:
        parsing.query(pecan.request, {})
        reservation, flavor = find(policies.GET, base.item_id(path))
        rules = conditions.of(base.context())
        return slot_views.extension(extension.find(reservation, flavor, rules, timeutils.utcnow()))

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        context = base.context()
        policy.authorize(context, policies.CREATE)
        is_dry_run = base.is_dry_run()
        values = base.body(schemas.RESERVATION_CREATE)
        project_id = base.booked_project(values, policies.CREATE, policies.CREATE_FOR)
        request = admission.BookingRequest(
            project_id=project_id,
            flavor=values["flavor_id"],
            count=values.get("instance_count", 1),
            span=Span(values["start"], values["end"]),
            now=timeutils.utcnow(),
            conditions=conditions.of(context),
            affinity=values.get("affinity"),
            labels=contacts.checked(labels.checked(values), context.user_id),
            before_end=values.get("before_end"),
            movable_hours=values.get("movable_hours", 0),
            handle=handles.checked(values),
        )
        asking = nova_quotas.Asking(project_id)
        if is_dry_run:
            lookup.check_labels(request.labels)
            return _foreseen(dry_run.booking(request), asking)
        made = base.made_once(
            values,
            reservations.find,
            lambda lease_id: reservations.create(
                base.caller(project_id), request, lease_id, explained=not base.is_warres_path()
            ),
        )
        return {**_tagged(*made), **_warnings(made[0], asking)}

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        reservation_id = base.item_id(path)
        reservation, flavor = find(policies.UPDATE, reservation_id)
        is_dry_run = base.is_dry_run()
        only_extends = base.is_warres_path()
        schema = schemas.RESERVATION_EXTEND if only_extends else schemas.RESERVATION_UPDATE
        values = base.body(schema)
        wanted, rules = _change(reservation, values), conditions.of(base.context())
        asking = nova_quotas.Asking(reservation.project_id) if wanted.count else None
        if is_dry_run:
            return _foreseen(change.foresee(reservation, flavor, wanted, rules), asking)
        explained = None if only_extends else flavor
        changed, is_done = change.change(base.caller(), reservation, wanted, rules, explained)
        document = {**_tagged(changed, flavor), **_warnings(changed, asking)}
        return base.reply(200 if is_done else 202, document)

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        parsing.query(pecan.request, {})
        reservation, _ = find(policies.DELETE, base.item_id(path))
        is_done = reservations.delete(base.caller(), reservation)
        return base.empty(204 if is_done else 202)


def _foreseen(foreseen: Foreseen, asking: nova_quotas.Asking | None) -> dict[str, Any]:
    """The document of a dry run. Only operators see the names of hosts.

    :param asking: the request for Nova's quota. None: the quota is no matter.
    """
    with_hosts = policy.allows(base.context(), policies.LIST_ALL)
    found = asking.warnings(foreseen.flavor.shape, foreseen.count) if asking else ()
    return views.foreseen(foreseen, with_hosts=with_hosts, warnings=found)


def _warnings(reservation: Reservation, asking: nova_quotas.Asking | None) -> dict[str, Any]:
    """The warnings about a reservation that was booked or changed, if the caller gets them."""
    if asking is None or not base.field_filter()(ReservationFields.warnings):
        return {}
    return views.warnings(asking.warnings(reservation.shape, reservation.instance_count))


def _filter(query: dict[str, Any]) -> Filter:
    """The filter by which to list reservations.

    :raises Forbidden: the query names a host, and the caller may not list the reservations of all
        projects. Such a caller must not learn which reservations are on a host.
    """
    if "host" in query:
        policy.authorize(base.context(), policies.LIST_ALL)
    after, before = query.get("from"), query.get("to")
    if after is not None and before is not None and before <= after:
        raise exceptions.InvalidField("to", texts.expected.AFTER(other="from"))
    if query.get("idle") and query.get("deleted"):
        raise exceptions.InvalidField("idle", texts.expected.WITHOUT(other="deleted"))
    return Filter(
        project_id=base.listed_project(
            query, policies.LIST_ALL, texts.permissions.LIST_RESERVATIONS
        ),
        user_id=query.get("user_id"),
        flavor_id=query.get("flavor_id"),
        states=query.get("status"),
        after=after,
        before=before,
        name=query.get("name"),
        series_id=query.get("series_id"),
        is_idle=query.get("idle", False),
    )


def _documents() -> Callable[..., dict[str, Any]]:
    """A function that makes documents of reservations, with what the caller gets on this path.

    It is for one request, and makes the document of each flavor once. It is called with a
    reservation, its flavor, and perhaps ``shared``: the caller only sees it because it is shared.
    """
    default, sees = conditions.before_end().default, base.field_filter()
    flavors: dict[str, dict[str, Any]] = {}

    def made(reservation: Reservation, flavor: Flavor, *, shared: bool = False) -> dict[str, Any]:
        if flavor.id not in flavors:
            flavors[flavor.id] = views.flavor(flavor, sees)
        document = views.reservation(reservation, flavor, sees, default, flavors[flavor.id])
        if shared and sees(ReservationFields.shared):
            document |= {"shared": True, "contact": None, "webhook": None}
        return document

    return made


def _tagged(reservation: Reservation, flavor: Flavor, *, shared: bool = False) -> dict[str, Any]:
    """A reservation's document. The answer gets the reservation's ETag."""
    base.tag(reservation.id, of_reservation(reservation))
    return _documents()(reservation, flavor, shared=shared)


def _change(reservation: Reservation, values: dict[str, Any]) -> change.ChangeRequest:
    """The change that a request asks for."""
    changed = {name: values[name] for name in labels.NAMES if name in values}
    contacts.checked(labels.checked(changed), base.context().user_id, reservation.labels)
    return change.ChangeRequest(
        values.get("start"),
        values.get("end"),
        values.get("instance_count"),
        changed or None,
        BeforeEndChoice(values["before_end"]) if "before_end" in values else None,
        values.get("movable_hours"),
        base.shown(ReservationFields, values),
    )


def find(rule: str, reservation_id: str, *, deleted: bool = False) -> tuple[Reservation, Flavor]:
    """A reservation and its flavor.

    :param rule: the policy rule that must allow the caller to act on the reservation.
    :param deleted: whether to also find the record of a deleted reservation.
    :raises ReservationNotFound: the reservation doesn't exist, or the caller may not see it.
    :raises ReservationDeleted: only its record is left.
    :raises Forbidden: the caller may see the reservation, but the rule doesn't allow the action.
    """
    reservation, flavor = lookup.get(reservation_id, None, deleted=True)
    target = {"project_id": reservation.project_id, "user_id": reservation.user_id}
    if not policy.allows(base.context(), rule, target):
        is_guest = reservation.deleted_at is None and _is_guest(reservation)
        if is_guest and rule == policies.GET:
            return reservation, flavor
        if is_guest or policy.allows(base.context(), policies.GET, target):
            base.forbid_change(rule)
        raise exceptions.ReservationNotFound(reservation_id)
    if reservation.deleted_at is not None and not deleted:
        at, by = reservation.deleted_at, reservation.deleted_by
        raise exceptions.ReservationDeleted(reservation_id, at, by)
    return reservation, flavor


def _is_guest(reservation: Reservation) -> bool:
    """Whether a reservation is shared with the caller's project, whose members may show it."""
    context = base.context()
    return policy.allows(context, policies.GET) and shares.is_guest(
        reservation.reservation_id, context.project_id
    )
