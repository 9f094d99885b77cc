"""The controller of /hosts: whether hosts can be booked, and who is on them."""

from typing import Any

import pecan

from warre_blazar import policy, times
from warre_blazar.api import parsing, views
from warre_blazar.api.controllers import base, searches
from warre_blazar.policies import hosts as policies
from warre_blazar.services.hosts import host_status
from warre_blazar.site_rules import conditions

LIST_QUERY = {
    "start": parsing.moment,
    "end": parsing.moment,
    "host": parsing.word,
    **base.PAGING,
}


class HostsController(base.Controller):
    """Hosts: whether they can be booked, how full they are, and which reservations are on them."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.LIST)
        query = parsing.query(pecan.request, LIST_QUERY)
        limit, offset = base.page_of(query)
        window = searches.window(query, times.HOSTS_LENGTH, "start", "end")
        now, ref = searches.now(), query.get("host")
        found = host_status.listing(window, now, conditions.device_rules_of_stock(), ref)
        end = None if limit is None else offset + limit
        documents = [views.host(each) for each in found[offset:end]]
        if ref is not None:
            for document, each in zip(documents, found[offset:end], strict=True):
                document["room_taken"] = views.room_taken(each.taken(now))
                document["compute_service"] = each.compute_service()
        return base.listing(documents, len(found), limit, offset)
