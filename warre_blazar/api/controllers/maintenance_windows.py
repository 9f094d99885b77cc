"""The controller of /maintenancewindows: times at which flavors or hosts are closed."""

import functools
from typing import Any

import pecan
from oslo_utils import timeutils

from warre_blazar import policy
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.domain.etags import of_window
from warre_blazar.domain.maintenance import MaintenanceWindow, Meeting, OverBookings
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.fields.others import WindowFields
from warre_blazar.policies import flavors as flavor_policies
from warre_blazar.policies import maintenance_windows as policies
from warre_blazar.services.maintenance import maintenance_windows, over_bookings
from warre_blazar.site_rules import conditions


class WindowsController(base.Controller):
    """Maintenance windows: times during which some flavors or hosts can't be booked."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.LIST)
        query = parsing.query(pecan.request, base.PAGING)
        limit, offset = base.page_of(query)
        sees = base.field_filter()
        windows, total = maintenance_windows.listing(limit, offset, **_sight())
        return base.listing([views.window(w, sees) for w in windows], total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.GET)
        parsing.query(pecan.request, {})
        return _document({}, maintenance_windows.get(base.item_id(path), **_sight()), [])

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.CREATE)
        is_dry_run = base.is_dry_run()
        values = base.body(schemas.WINDOW_CREATE)
        over = _over(values)
        if not base.is_warres_path():
            maintenance_windows.check_closes(
                values.get("flavor_ids", []), values.get("host_ids", [])
            )
        create = functools.partial(
            over_bookings.create,
            Span(values["start"], values["end"]),
            values.get("note"),
            values.get("flavor_ids", []),
            values.get("host_ids", []),
            over,
        )
        if is_dry_run or over.writes_nothing:
            return _document(values, *create(dry_run=True))
        window, meetings = base.made_once(
            values,
            base.found(
                lambda window_id: _cleared(window_id, over),
                exceptions.WindowNotFound,
            ),
            create,
        )
        return base.reply(201, _document(values, window, meetings))

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        window_id = base.item_id(path)
        is_dry_run = base.is_dry_run()
        _authorize_change(policies.UPDATE, window_id)
        values = base.body(schemas.WINDOW_UPDATE)
        changed = over_bookings.update(
            window_id,
            values,
            _over(values),
            base.shown(WindowFields, values),
            dry_run=is_dry_run,
            must_close=not base.is_warres_path(),
        )
        return _document(values, *changed)

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        window_id = base.item_id(path)
        parsing.query(pecan.request, {})
        _authorize_change(policies.DELETE, window_id)
        maintenance_windows.delete(window_id)
        return base.empty(204)


def _over(values: dict[str, Any]) -> over_bookings.OverBookingsRequest:
    """What is done with the reservations that the window meets."""
    return over_bookings.OverBookingsRequest(
        OverBookings(values.get("bookings", "refuse")),
        conditions.of_users(),
        timeutils.utcnow(),
        base.context().user_id,
    )


def _cleared(
    window_id: str, over: over_bookings.OverBookingsRequest
) -> tuple[MaintenanceWindow, list[Meeting]]:
    """The window that an earlier request has made, cleared of what that request didn't come to."""
    window = maintenance_windows.get(window_id, **_sight())
    return window, over_bookings.clear(window, over)


def _document(
    values: dict[str, Any], window: MaintenanceWindow, meetings: list[Meeting]
) -> dict[str, Any]:
    """A window's document. The answer gets the window's ETag."""
    base.tag(window.id, of_window(window))
    shown = meetings if "bookings" in values else None
    return views.window(window, base.field_filter(), shown)


def _sight() -> dict[str, Any]:
    """Which flavors the caller may see: those of the project, or everything."""
    context = base.context()
    everything = policy.allows(context, flavor_policies.LIST_ALL)
    return {"project_id": context.project_id, "everything": everything}


def _authorize_change(rule: str, window_id: str) -> None:
    """Check that the caller may change the maintenance window.

    :raises WindowNotFound: the caller may not see the window. On Warre's path, the answer is the
        same if the caller may not change it.
    :raises Forbidden: the caller may see the window, but not change it.
    """
    if not policy.allows(base.context(), rule):
        if policy.allows(base.context(), policies.GET):
            maintenance_windows.get(window_id, **_sight())
            base.forbid_change(rule)
        raise exceptions.WindowNotFound(window_id)
