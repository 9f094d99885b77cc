"""/limits"""

from typing import Any

import pecan

from warre_blazar import exceptions, policy
from warre_blazar.api import parsing, views
from warre_blazar.api.controllers import base
from warre_blazar.policies import limits as policies
from warre_blazar.services import limits

QUERY = {"project_id": parsing.word}


class LimitsController(base.Controller):
    """Limits: how much a project may book, and has booked."""

    name = "limits"

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        context = base.context()
        policy.authorise(context, policies.GET)
        query = parsing.query(pecan.request, QUERY)
        project_id = query.get("project_id", context.project_id)
        if not project_id:
            raise exceptions.InvalidField("project_id", "expected, for a token without a project")
        if project_id != context.project_id:
            policy.authorise(context, policies.GET_OTHER)
        return views.limits(limits.of_project(project_id))
