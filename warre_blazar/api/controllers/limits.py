"""The controller of /limits: how much a project may book, and how much it holds."""

from typing import Any

import pecan

from warre_blazar import policy, texts
from warre_blazar.api import parsing, views
from warre_blazar.api.controllers import base
from warre_blazar.errors import exceptions
from warre_blazar.policies import limits as policies
from warre_blazar.services.booking import quotas
from warre_blazar.site_rules import conditions

QUERY = {"project_id": parsing.project_id, "all_projects": parsing.boolean, **base.PAGING}


class LimitsController(base.Controller):
    """Limits: how much a project may book, and how much it has booked."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        context = base.context()
        policy.authorize(context, policies.GET)
        query = parsing.query(pecan.request, QUERY)
        if query.get("all_projects"):
            policy.authorize(context, policies.GET_OTHER)
            return _of_all_projects(query)
        project_id = query.get("project_id", context.project_id)
        if not project_id:
            raise exceptions.InvalidField("project_id", texts.expected.PROJECT_NEEDED())
        if project_id != context.project_id:
            policy.authorize(context, policies.GET_OTHER)
        rule = conditions.quota_rule()
        # Who names a project may have changed its limits a moment ago. Programs of members ask for
        # their own limits all the time.
        standing = quotas.of_project(rule.fresh if "project_id" in query else rule, project_id)
        if not any(standing.used.by_name().values()):
            # For a project that it doesn't have, Keystone has limits too: the registered ones. But
            # what a deleted project has booked counts until it is deleted.
            base.existing_project(project_id)
        return views.limits(standing, base.field_filter())


def _of_all_projects(query: dict[str, Any]) -> Any:
    limit, offset = base.page_of(query)
    standings = quotas.of_all_projects(conditions.quota_rule())
    end = None if limit is None else offset + limit
    sees = base.field_filter()
    page = [views.project_limits(standing, sees) for standing in standings[offset:end]]
    return base.listing(page, len(standings), limit, offset)
