"""/reservations"""

from typing import Any

import pecan
from oslo_utils import timeutils

from warre_blazar import exceptions, policy, terms
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.db.reservations import Reservation
from warre_blazar.domain.flavor import Flavor
from warre_blazar.domain.timeline import Span
from warre_blazar.policies import reservations as policies
from warre_blazar.services import bookings, reservations
from warre_blazar.services.callers import Caller

LIST_QUERY = {
    "all_projects": parsing.boolean,
    "project_id": parsing.word,
    "flavor_id": parsing.word,
    **base.PAGING,
}


class ReservationsController(base.Controller):
    """Reservations: what is booked."""

    name = "reservations"

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorise(base.context(), policies.LIST)
        query = parsing.query(pecan.request, LIST_QUERY)
        limit, offset = base.page_of(query)
        found, total = reservations.listing(
            project_id=_listed_project(query),
            flavor_id=query.get("flavor_id"),
            limit=limit,
            offset=offset,
        )
        return base.listing([views.reservation(r, f) for r, f in found], total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        parsing.query(pecan.request, {})
        return views.reservation(*_find(policies.GET, base.item(path)))

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        context = base.context()
        policy.authorise(context, policies.CREATE)
        if not context.project_id:
            raise exceptions.Forbidden(policies.CREATE)
        parsing.query(pecan.request, {})
        values = parsing.body(pecan.request, schemas.RESERVATION_CREATE)
        request = reservations.Request(
            project_id=context.project_id,
            flavor=values["flavor_id"],
            count=values.get("instance_count", 1),
            span=Span(values["start"], values["end"]),
            now=timeutils.utcnow(),
            terms=terms.of(context),
            affinity=values.get("affinity"),
        )
        return views.reservation(*bookings.create(_caller(), request))

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        reservation_id = base.item(path)
        found, flavor = _find(policies.UPDATE, reservation_id)
        parsing.query(pecan.request, {})
        values = parsing.body(pecan.request, schemas.RESERVATION_UPDATE)
        moved, done = bookings.move(_caller(), found, values["end"], terms.of(base.context()))
        return base.reply(200 if done else 202, views.reservation(moved, flavor))

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        parsing.query(pecan.request, {})
        found, _ = _find(policies.DELETE, base.item(path))
        return base.empty(204 if bookings.delete(_caller(), found) else 202)


def _listed_project(query: dict[str, Any]) -> str | None:
    """Whose reservations to list: one's own, unless one may ask for more."""
    context = base.context()
    own = context.project_id or ""
    if not policy.allows(context, policies.LIST_ALL):
        return own
    if query.get("all_projects"):
        return query.get("project_id")
    return query.get("project_id", own)


def _find(rule: str, reservation_id: str) -> tuple[Reservation, Flavor]:
    """A reservation that the rule allows; one that it doesn't isn't there."""
    found, flavor = reservations.get(reservation_id, None)
    target = {"project_id": found.project_id, "user_id": found.user_id}
    if not policy.allows(base.context(), rule, target):
        raise exceptions.ReservationNotFound(reservation_id)
    return found, flavor


def _caller() -> Caller:
    context = base.context()
    return Caller(
        token=context.auth_token,
        user_id=context.user_id,
        roles=list(context.roles),
        context=context.to_dict(),
    )
