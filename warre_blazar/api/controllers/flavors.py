"""/flavors"""

import datetime
from typing import Any

import pecan
from oslo_utils import timeutils

from warre_blazar import exceptions, policy, terms
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.domain.timeline import Span
from warre_blazar.policies import flavors as policies
from warre_blazar.services import capacity, flavors, freeslots

LIST_QUERY = {
    "all_projects": parsing.boolean,
    "active": parsing.boolean,
    "category": parsing.word,
    "availability_zone": parsing.word,
    **base.PAGING,
}

SHOW_QUERY = {"detail": parsing.detail, "start": parsing.moment, "end": parsing.moment}
_CAPACITY_DAYS = datetime.timedelta(days=30)
FREE_QUERY = {
    "start": parsing.moment,
    "end": parsing.moment,
    "count": parsing.positive,
    "affinity": parsing.boolean,
}
_FREE_DAYS = datetime.timedelta(days=365)


class FlavorsController(base.Controller):
    """Flavors: what can be booked."""

    name = "flavors"
    _custom_actions = {"freeslots": ["GET"]}  # noqa: RUF012

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        context = base.context()
        policy.authorise(context, policies.LIST)
        query = parsing.query(pecan.request, LIST_QUERY)
        wanted = query.pop("all_projects", False)
        limit, offset = base.page_of(query)
        found, total = flavors.listing(
            project_id=context.project_id,
            everything=wanted and policy.allows(context, policies.LIST_ALL),
            filters=query,
            limit=limit,
            offset=offset,
        )
        return base.listing([views.flavor(f) for f in found], total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        context = base.context()
        policy.authorise(context, policies.GET)
        query = parsing.query(pecan.request, SHOW_QUERY)
        flavor_id = base.item(path)
        if "detail" not in query:
            for name in query:
                raise exceptions.InvalidField(name, "expected only with detail=capacity")
            return views.flavor(_visible(flavor_id))
        policy.authorise(context, policies.CAPACITY)
        now, window = _window(query, _CAPACITY_DAYS)
        flavor = _visible(flavor_id)
        found = capacity.of_flavor(flavor, window, now)
        return {**views.flavor(flavor), "capacity": views.capacity(found)}

    @pecan.expose("json")
    def freeslots(self, *path: str, **_query: Any) -> Any:
        context = base.context()
        policy.authorise(context, policies.FREE)
        flavor_id = base.item(path)
        query = parsing.query(pecan.request, FREE_QUERY)
        now, window = _window(query, _FREE_DAYS)
        question = freeslots.Question(
            flavor=flavor_id,
            project_id=context.project_id,
            everything=policy.allows(context, policies.LIST_ALL),
            count=query.get("count", 1),
            window=window,
            now=now,
            cleaning=terms.cleaning(),
            affinity=query.get("affinity"),
        )
        return [views.span(s) for s in freeslots.find(question)]

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        policy.authorise(base.context(), policies.CREATE)
        parsing.query(pecan.request, {})
        values = parsing.body(pecan.request, schemas.FLAVOR_CREATE)
        made = flavors.create({**schemas.FLAVOR_DEFAULTS, **values}, timeutils.utcnow())
        return base.reply(202, views.flavor(made))

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        flavor_id = base.item(path)
        _authorise_change(policies.UPDATE, flavor_id)
        values = parsing.body(pecan.request, schemas.FLAVOR_UPDATE)
        return views.flavor(flavors.update(flavor_id, values))

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        flavor_id = base.item(path)
        _authorise_change(policies.DELETE, flavor_id)
        flavors.delete(flavor_id)
        return base.empty(204)


def _window(query: dict[str, Any], usual: datetime.timedelta) -> tuple[datetime.datetime, Span]:
    """The present minute, and the time that a query is about, from now on unless it says."""
    now = timeutils.utcnow().replace(second=0, microsecond=0)
    start = query.get("start", now)
    window = Span(start, query.get("end", start + usual))
    if window.end <= window.start:
        raise exceptions.InvalidField("end", "expected a time after the start")
    return now, window


def _visible(flavor_id: str) -> flavors.Flavor:
    context = base.context()
    everything = policy.allows(context, policies.LIST_ALL)
    return flavors.get(flavor_id, project_id=context.project_id, everything=everything)


def _authorise_change(rule: str, flavor_id: str) -> None:
    """As in Warre, what one may not change isn't there."""
    parsing.query(pecan.request, {})
    if not policy.allows(base.context(), rule):
        raise exceptions.FlavorNotFound(flavor_id)
