"""The controller of /waits: what projects want to book once there is room."""

import datetime
from typing import Any

from oslo_config import cfg
from oslo_utils import timeutils, uuidutils

from warre_blazar import texts, times
from warre_blazar.api import views
from warre_blazar.api.controllers import base, declared
from warre_blazar.db.waits import WaitFilter
from warre_blazar.domain.booking import labels
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Mode, Wait
from warre_blazar.errors import exceptions
from warre_blazar.fields.waits import WaitFields
from warre_blazar.services.waits import waits
from warre_blazar.services.waits.waits import WaitStatus
from warre_blazar.site_rules import conditions, contacts, wait_permits


class WaitsController(declared.ItemsController):
    """Waits: what projects want to book once there is room."""

    resource, missing = WaitFields, exceptions.WaitNotFound

    def page(self, query: dict[str, Any], limit: int | None, offset: int) -> Any:
        project_id = base.listed_project(
            query, WaitFields.rule("list:all"), texts.permissions.LIST_WAITS
        )
        wanted = WaitFilter(project_id, query.get("user_id"), query.get("status"))
        return waits.listing(wanted, limit, offset)

    def document(self, item: WaitStatus, sees: views.FieldFilter) -> dict[str, Any]:
        return views.wait(item, sees)

    def one(self, item_id: str) -> WaitStatus:
        return waits.status(item_id)

    def owner(self, item: WaitStatus) -> dict[str, Any]:
        return {"project_id": item.wait.project_id, "user_id": item.wait.user_id}

    def prepared(self, values: dict[str, Any]) -> Any:
        rule, rule_for_others = map(WaitFields.rule, ("create", "create:other_project"))
        return values, base.booked_project(values, rule, rule_for_others)

    def create(self, item_id: str, prepared: Any) -> WaitStatus:
        return waits.create(_permitted(item_id, *prepared), *_bounds())

    def foresee(self, prepared: Any) -> WaitStatus:
        return waits.foresee(_permitted(uuidutils.generate_uuid(), *prepared), *_bounds())

    def remove(self, item: WaitStatus) -> None:
        waits.cancel(item.wait, timeutils.utcnow(), base.context().user_id)


def _bounds() -> tuple[int, frozenset[str]]:
    """The most waits of a project, and the projects that may book for any length."""
    return cfg.CONF.warre.max_waits_per_project, conditions.projects_of_any_length()


def _permitted(wait_id: str, values: dict[str, Any], project_id: str) -> Wait:
    """The wait that a body asks for, if a manager could serve it for the caller.

    :raises InvalidField, Forbidden, ServiceUnavailable, ServiceRefused:
    """
    wait = _wait(wait_id, project_id, values)
    wait_permits.require(wait)
    return wait


def _wait(wait_id: str, project_id: str, values: dict[str, Any]) -> Wait:
    """The wait that a body asks for, in the name of the caller.

    :raises InvalidField:
    """
    context, now = base.context(), timeutils.utcnow()
    flavor_id, category = values.get("flavor_id"), values.get("category")
    if (flavor_id is None) == (category is None):
        raise exceptions.InvalidField("flavor_id", texts.expected.FLAVOR_OR_CATEGORY())
    length = _length(values["hours"])
    start = values.get("from") or now.replace(second=0, microsecond=0)
    window = Span(start, values.get("to") or start + times.WAIT_LENGTH)
    last_start = window.end - length
    return Wait(
        id=wait_id,
        project_id=project_id,
        user_id=context.user_id,
        flavor_id=flavor_id,
        category=category,
        instance_count=values.get("instance_count", 1),
        length=length,
        window=window,
        created_at=now.replace(microsecond=0),
        expires_at=min(values.get("expires_at") or last_start, last_start),
        mode=Mode(values.get("mode", Mode.BOOK)),
        affinity=values.get("affinity"),
        before_end=values.get("before_end"),
        labels=contacts.checked(labels.checked(values), context.user_id),
    )


def _length(hours: float) -> datetime.timedelta:
    # Some numbers of minutes, such as 20, can only be written as a rounded number of hours.
    minutes = round(hours * times.HOUR / times.MINUTE, 3)
    if minutes < 1 or minutes != int(minutes):
        raise exceptions.InvalidField("hours", texts.expected.HOURS())
    return minutes * times.MINUTE
