"""The controller of /messages."""

from typing import Any

import pecan
import webob.exc

from warre_blazar import policy
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.policies import messages as policies
from warre_blazar.services.telling import message_settings


class MessagesController(base.Controller):
    """Whether the caller gets messages about the reservations that the caller has booked."""

    name = "messages"

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.GET)
        parsing.query(pecan.request, {})
        return views.messages(message_settings.is_enabled(base.context().user_id))

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        if any(path):
            raise webob.exc.HTTPNotFound
        policy.authorize(base.context(), policies.UPDATE)
        parsing.query(pecan.request, {})
        enabled = base.body(schemas.MESSAGES_UPDATE)["enabled"]
        message_settings.set_enabled(base.context().user_id, enabled)
        return views.messages(enabled)
