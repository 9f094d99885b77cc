"""The controller of /maintenancewindows: times at which flavors or hosts are closed."""

import functools
from typing import Any

import pecan
from oslo_utils import timeutils

from warre_blazar import policy
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base, declared
from warre_blazar.domain.etags import of_window
from warre_blazar.domain.maintenance import MaintenanceWindow, Meeting, OverBookings
from warre_blazar.domain.timeline import Span
from warre_blazar.errors import exceptions
from warre_blazar.fields.others import WindowFields
from warre_blazar.policies import flavors as flavor_policies
from warre_blazar.services.maintenance import maintenance_windows, over_bookings
from warre_blazar.site_rules import conditions


class WindowsController(declared.ItemsController):
    """Maintenance windows: times during which some flavors or hosts can't be booked."""

    resource, missing = WindowFields, exceptions.WindowNotFound

    def page(self, query: dict[str, Any], limit: int | None, offset: int) -> Any:
        return maintenance_windows.listing(limit, offset, **_sight())

    def document(self, item: MaintenanceWindow, sees: views.FieldFilter) -> dict[str, Any]:
        return views.window(item, sees)

    def one(self, item_id: str) -> MaintenanceWindow:
        return maintenance_windows.get(item_id, **_sight())

    def remove(self, item: MaintenanceWindow) -> None:
        maintenance_windows.delete(item.id)

    def allowed(self, action: str, item_id: str) -> MaintenanceWindow:
        rule, may_see = WindowFields.rule(action), WindowFields.rule("get")
        if action == "get":
            policy.authorize(base.context(), rule)
            return self.one(item_id)
        if not policy.allows(base.context(), rule):
            if policy.allows(base.context(), may_see):
                self.one(item_id)
                base.forbid_change(rule)
            raise exceptions.WindowNotFound(item_id)
        # Who may change it needn't be allowed to see all of its flavors.
        return maintenance_windows.get(item_id, project_id=None, everything=True)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        item_id = base.item_id(path)
        parsing.query(pecan.request, {})
        return _document({}, self.allowed("get", item_id), [])

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        policy.authorize(base.context(), WindowFields.rule("create"))
        is_dry_run = base.is_dry_run()
        values = base.body(self.body)
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
        self.allowed("update", window_id)
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
