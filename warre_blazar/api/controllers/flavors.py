"""The controller of /flavors: flavors, and the times at which they are free."""

import functools
from typing import Any

import pecan
from oslo_utils import timeutils

from warre_blazar import policy, texts, times
from warre_blazar.api import parsing, schemas, slot_views, views
from warre_blazar.api.controllers import base, searches
from warre_blazar.domain.etags import of_flavor
from warre_blazar.errors import exceptions
from warre_blazar.fields.flavors import FlavorFields, FlavorShown
from warre_blazar.policies import flavors as policies
from warre_blazar.services.flavors import capacity, flavors
from warre_blazar.services.slots import free_slots
from warre_blazar.site_rules import conditions

LIST_QUERY = {
    "all_projects": parsing.boolean,
    "active": parsing.boolean,
    "category": parsing.word,
    "availability_zone": parsing.word,
    **base.PAGING,
}

SHOW_QUERY = {"detail": parsing.detail, "start": parsing.moment, "end": parsing.moment}
FREE_QUERY = {
    "start": parsing.moment,
    "end": parsing.moment,
    "count": parsing.positive,
    "affinity": parsing.boolean,
    "hours": parsing.hours,
    "reason": parsing.boolean,
    "placing_again": parsing.boolean,
}


class FlavorsController(base.Controller):
    """Flavors: what can be booked."""

    _custom_actions = {"freeslots": ["GET"]}  # noqa: RUF012

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        context = base.context()
        policy.authorize(context, policies.LIST)
        query = parsing.query(pecan.request, LIST_QUERY)
        everything = base.may_list_more(
            query.pop("all_projects", False),
            policies.LIST_ALL,
            texts.permissions.OTHER_FLAVORS(),
        )
        limit, offset = base.page_of(query)
        page, total = flavors.listing(
            project_id=context.project_id,
            everything=everything,
            filters=query,
            limit=limit,
            offset=offset,
        )
        return base.listing(_documents(page), total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        context = base.context()
        policy.authorize(context, policies.GET)
        query = parsing.query(pecan.request, SHOW_QUERY)
        flavor_id = base.item_id(path)
        if "detail" not in query:
            for name in query:
                raise exceptions.InvalidField(
                    name, texts.expected.ONLY_WITH(other="detail=capacity")
                )
            return _shown(_visible_flavor(flavor_id))
        policy.authorize(context, policies.CAPACITY)
        window = searches.window(query, times.CAPACITY_LENGTH, "start", "end")
        flavor = _visible_flavor(flavor_id)
        its_capacity = capacity.of_flavor(flavor, window, searches.now())
        return {**_shown(flavor), "capacity": views.capacity(its_capacity)}

    @pecan.expose("json")
    def freeslots(self, *path: str, **_query: Any) -> Any:
        context = base.context()
        policy.authorize(context, policies.FREE)
        flavor_id = base.item_id(path)
        query = parsing.query(pecan.request, FREE_QUERY)
        window = searches.window(query, times.FREE_SLOTS_LENGTH, "start", "end")
        everything = policy.allows(context, policies.LIST_ALL)
        question = searches.question(query, window, times.NO_TIME, flavor_id, everything=everything)
        spans = free_slots.find(question)
        if not query.get("reason"):
            return [views.span(s) for s in spans]
        return slot_views.free(spans, None if spans else free_slots.why_none(question))

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.CREATE)
        is_dry_run = base.is_dry_run()
        values = base.body(schemas.FLAVOR_CREATE)
        create = functools.partial(
            flavors.create,
            {**schemas.FLAVOR_DEFAULTS, **values},
            timeutils.utcnow(),
            conditions.device_rules(),
        )
        if is_dry_run:
            return _written(create(dry_run=True))
        written = base.made_once(values, flavors.find_created, create)
        return base.reply(202, _written(written))

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        flavor_id = base.item_id(path)
        is_dry_run = base.is_dry_run()
        _authorize_change(policies.UPDATE, flavor_id)
        values = base.body(schemas.FLAVOR_UPDATE)
        changed = flavors.update(
            flavor_id,
            values,
            conditions.device_rules(),
            base.shown(FlavorFields, values),
            dry_run=is_dry_run,
        )
        return _written(changed)

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        flavor_id = base.item_id(path)
        parsing.query(pecan.request, {})
        _authorize_change(policies.DELETE, flavor_id)
        flavors.delete(flavor_id)
        return base.empty(204)


def _tagged(flavor: flavors.Flavor) -> dict[str, Any]:
    """A flavor's document. The answer gets the flavor's ETag."""
    base.tag(flavor.id, of_flavor(flavor))
    return _documents([flavor])[0]


def _written(written: flavors.Written) -> dict[str, Any]:
    """The document of a flavor that was made or changed, with what is in doubt about it."""
    document = _tagged(written.flavor)
    if not base.is_warres_path():
        document["warnings"] = [doubt.document for doubt in written.doubts]
    return document


def _shown(flavor: flavors.Flavor) -> dict[str, Any]:
    """The document of a single flavor, with the flavor's limits if the caller may see them."""
    document = _tagged(flavor)
    if not base.field_filter()(FlavorShown.limits):
        return document
    return {**document, "limits": views.flavor_limits(capacity.limits(flavor))}


def _documents(page: list[flavors.Flavor]) -> list[dict[str, Any]]:
    """The documents of flavors. On Warre's path, the hosts that could hold them aren't computed."""
    sees = base.field_filter()
    if base.is_warres_path():
        return [views.flavor(flavor, sees) for flavor in page]
    hosts = capacity.bookable_hosts(page)
    return [views.offered(flavor, hosts[flavor.id], sees) for flavor in page]


def _visible_flavor(flavor_id: str) -> flavors.Flavor:
    """A flavor, by id or name.

    :raises FlavorNotFound: the flavor doesn't exist, or the caller may not see it.
    """
    context = base.context()
    everything = policy.allows(context, policies.LIST_ALL)
    return flavors.get(flavor_id, project_id=context.project_id, everything=everything)


def _authorize_change(rule: str, flavor_id: str) -> None:
    """Check that the caller may change the flavor.

    :raises FlavorNotFound: the caller may not see the flavor. On Warre's path, the answer is the
        same if the caller may not change it.
    :raises Forbidden: the caller may see the flavor, but not change it.
    """
    if not policy.allows(base.context(), rule):
        if policy.allows(base.context(), policies.GET):
            _visible_flavor(flavor_id)
            base.forbid_change(rule)
        raise exceptions.FlavorNotFound(flavor_id)
