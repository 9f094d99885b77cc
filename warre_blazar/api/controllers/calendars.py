"""The controller of /calendars: the addresses at which calendar programs read reservations."""

import dataclasses
from typing import Any

from oslo_utils import timeutils

from warre_blazar import policy, texts
from warre_blazar.api import views
from warre_blazar.api.controllers import base, declared
from warre_blazar.db.booking.calendars import SubscribedCalendar
from warre_blazar.errors import exceptions
from warre_blazar.fields.calendars import CalendarFields
from warre_blazar.openstack import keystone
from warre_blazar.services.booking import calendars
from warre_blazar.site_rules import calendar_permits


class CalendarsController(declared.ItemsController):
    """Calendars: addresses at which calendar programs read the reservations of a project."""

    resource, missing = CalendarFields, exceptions.CalendarNotFound

    def page(self, query: dict[str, Any], limit: int | None, offset: int) -> Any:
        rule, context = CalendarFields.rule("list:all"), base.context()
        project_id = base.listed_project(query, rule, texts.permissions.LIST_CALENDARS)
        wanted = {"project_id": project_id, "user_id": context.user_id} if project_id else {}
        return calendars.listing(wanted, limit, offset)

    def one(self, item_id: str) -> SubscribedCalendar:
        return calendars.get(item_id)

    def allowed(self, action: str, item_id: str) -> SubscribedCalendar:
        found: SubscribedCalendar = super().allowed(action, item_id)
        context = base.context()
        is_own = (found.user_id, found.project_id) == (context.user_id, context.project_id)
        if not is_own and not policy.allows(context, CalendarFields.rule("list:all")):
            raise exceptions.CalendarNotFound(item_id)
        return found

    def document(self, item: SubscribedCalendar, sees: views.FieldFilter) -> dict[str, Any]:
        is_own = item.user_id == base.context().user_id
        url = keystone.public_url() + calendars.path_of(item) if is_own else None
        return views.document(CalendarFields, {**vars(item), "url": url}, sees)

    def prepared(self, values: dict[str, Any]) -> SubscribedCalendar:
        now, context = timeutils.utcnow().replace(microsecond=0), base.context()
        calendar = SubscribedCalendar("", values["name"], context.project_id, context.user_id, now)
        calendar_permits.require(calendar)
        keystone.public_url()  # Nothing is made if its address can't be told.
        return calendar

    def create(self, item_id: str, prepared: SubscribedCalendar) -> SubscribedCalendar:
        return calendars.create(dataclasses.replace(prepared, id=item_id))

    def remove(self, item: SubscribedCalendar) -> None:
        calendars.delete(item)
