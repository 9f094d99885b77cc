"""The controller of /waits: what projects want to book once there is room."""

import datetime
from typing import Any

import pecan
from oslo_config import cfg
from oslo_utils import timeutils, uuidutils

from warre_blazar import policy, texts, times
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.db.waits import WaitFilter
from warre_blazar.domain.booking import labels
from warre_blazar.domain.timeline import Span
from warre_blazar.domain.waits import Mode, Wait
from warre_blazar.errors import exceptions
from warre_blazar.policies import waits as policies
from warre_blazar.services.waits import waits
from warre_blazar.site_rules import conditions, contacts, wait_permits

LIST_QUERY = {
    "all_projects": parsing.boolean,
    "project_id": parsing.project_id,
    "user_id": parsing.word,
    "status": parsing.wait_states,
    **base.PAGING,
}


class WaitsController(base.Controller):
    """Waits: what projects want to book once there is room."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.LIST)
        query = parsing.query(pecan.request, LIST_QUERY)
        limit, offset = base.page_of(query)
        wanted = WaitFilter(
            project_id=base.listed_project(query, policies.LIST_ALL, texts.refusals.LIST_WAITS),
            user_id=query.get("user_id"),
            states=query.get("status"),
        )
        found, total = waits.listing(wanted, limit, offset)
        return base.listing([views.wait(each) for each in found], total, limit, offset)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        parsing.query(pecan.request, {})
        wait = _find(policies.GET, base.item_id(path))
        return views.wait(waits.status(wait.id))

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.CREATE)
        is_dry_run = base.is_dry_run()
        values = base.body(schemas.WAIT_CREATE)
        project_id = base.booked_project(values, policies.CREATE, policies.CREATE_FOR)
        most = cfg.CONF.warre.max_waits_per_project
        exempt = conditions.projects_of_any_length()
        if is_dry_run:
            wait = _permitted(uuidutils.generate_uuid(), project_id, values)
            return views.wait(waits.foresee(wait, most, exempt))
        made = base.made_once(
            values,
            base.found(waits.status, exceptions.WaitNotFound),
            lambda wait_id: waits.create(_permitted(wait_id, project_id, values), most, exempt),
        )
        return base.reply(201, views.wait(made))

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        parsing.query(pecan.request, {})
        wait = _find(policies.DELETE, base.item_id(path))
        waits.cancel(wait, timeutils.utcnow())
        return base.empty(204)


def _permitted(wait_id: str, project_id: str, values: dict[str, Any]) -> Wait:
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


def _find(rule: str, wait_id: str) -> Wait:
    """A wait.

    :param rule: the policy rule that must allow the caller to act on the wait.
    :raises WaitNotFound: the wait doesn't exist, or the caller may not see it.
    :raises Forbidden: the caller may see the wait, but the rule doesn't allow the action.
    """
    wait = waits.get(wait_id)
    target = {"project_id": wait.project_id, "user_id": wait.user_id}
    if not policy.allows(base.context(), rule, target):
        if policy.allows(base.context(), policies.GET, target):
            base.forbid_change(rule)
        raise exceptions.WaitNotFound(wait_id)
    return wait
