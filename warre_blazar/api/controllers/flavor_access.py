"""The controller of /flavorprojects: the access of projects to private flavors."""

from typing import Any

import pecan

from warre_blazar import policy
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.errors import exceptions
from warre_blazar.policies import flavor_access as policies
from warre_blazar.services.flavors import flavors

LIST_QUERY = {"flavor_id": parsing.word, "project_id": parsing.project_id, **base.PAGING}


class FlavorProjectsController(base.Controller):
    """Access: which projects may book which private flavors."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.LIST)
        query = parsing.query(pecan.request, LIST_QUERY)
        limit, offset = base.page_of(query)
        sees = base.field_filter()
        accesses, total = flavors.accesses(query, limit, offset)
        return base.listing([views.access(a, sees) for a in accesses], total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        access_id = base.item_id(path)
        _authorize_one(policies.GET, access_id)
        return views.access(flavors.get_access(access_id), base.field_filter())

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.CREATE)
        parsing.query(pecan.request, {})
        values = base.body(schemas.ACCESS_CREATE)
        access = base.made_once(
            values,
            base.found(flavors.get_access, exceptions.AccessNotFound),
            lambda access_id: flavors.grant_access(
                values["flavor_id"], base.existing_project(values["project_id"]), access_id
            ),
        )
        return views.access(access, base.field_filter())

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        access_id = base.item_id(path)
        _authorize_one(policies.DELETE, access_id)
        flavors.revoke_access(access_id)
        return base.empty(204)


def _authorize_one(rule: str, access_id: str) -> None:
    """Check that the request has no query, and that the caller may act on the access.

    :raises AccessNotFound: the caller may not act on the access. Warre gives the same answer.
    """
    parsing.query(pecan.request, {})
    if not policy.allows(base.context(), rule):
        raise exceptions.AccessNotFound(access_id)
