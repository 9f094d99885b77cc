"""The controller of /refusals: requests that a rule has refused."""

from typing import Any

import pecan

from warre_blazar import policy, texts
from warre_blazar.api import parsing, views
from warre_blazar.api.controllers import base
from warre_blazar.db.records.refusals import RefusalFilter
from warre_blazar.errors import exceptions
from warre_blazar.policies import refusals as policies
from warre_blazar.services.records import refusals

LIST_QUERY = {
    "all_projects": parsing.boolean,
    "project_id": parsing.project_id,
    "user_id": parsing.word,
    "flavor_id": parsing.word,
    "code": parsing.refusal_code,
    "from": parsing.moment,
    "to": parsing.moment,
    **base.PAGING,
}


class RefusalsController(base.Controller):
    """Refusals: requests to book or to change a reservation that a rule has refused."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.LIST)
        query = parsing.query(pecan.request, LIST_QUERY)
        limit, offset = base.page_of(query)
        after, before = query.get("from"), query.get("to")
        if after is not None and before is not None and before <= after:
            raise exceptions.InvalidField("to", texts.expected.AFTER(other="from"))
        wanted = RefusalFilter(
            project_id=base.listed_project(query, policies.LIST_ALL, texts.refusals.LIST_REFUSALS),
            user_id=query.get("user_id"),
            flavor_id=query.get("flavor_id"),
            code=query.get("code"),
            after=after,
            before=before,
        )
        found, total = refusals.listing(wanted, limit, offset)
        return base.listing([views.refusal(each) for each in found], total, limit, offset)
