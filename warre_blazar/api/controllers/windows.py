"""/maintenancewindows"""

from typing import Any

import pecan
from oslo_utils import timeutils

from warre_blazar import exceptions, policy
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.domain.timeline import Span
from warre_blazar.policies import windows as policies
from warre_blazar.services import windows


class WindowsController(base.Controller):
    """Maintenance windows: when some flavors can't be booked."""

    name = "maintenancewindows"

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorise(base.context(), policies.LIST)
        query = parsing.query(pecan.request, base.PAGING)
        limit, offset = base.page_of(query)
        found, total = windows.listing(limit, offset)
        return base.listing([views.window(w) for w in found], total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        policy.authorise(base.context(), policies.GET)
        parsing.query(pecan.request, {})
        return views.window(windows.get(base.item(path)))

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        policy.authorise(base.context(), policies.CREATE)
        parsing.query(pecan.request, {})
        values = parsing.body(pecan.request, schemas.WINDOW_CREATE)
        made = windows.create(
            Span(values["start"], values["end"]),
            values.get("note"),
            values.get("flavor_ids", []),
            timeutils.utcnow(),
        )
        return base.reply(201, views.window(made))

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        window_id = base.item(path)
        _authorise_change(policies.UPDATE, window_id)
        values = parsing.body(pecan.request, schemas.WINDOW_UPDATE)
        return views.window(windows.update(window_id, values, timeutils.utcnow()))

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        window_id = base.item(path)
        _authorise_change(policies.DELETE, window_id)
        windows.delete(window_id)
        return base.empty(204)


def _authorise_change(rule: str, window_id: str) -> None:
    """As in Warre, what one may not change isn't there."""
    parsing.query(pecan.request, {})
    if not policy.allows(base.context(), rule):
        raise exceptions.WindowNotFound(window_id)
