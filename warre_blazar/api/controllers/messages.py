"""The controller of /messages: whether a user gets messages."""

from typing import Any

import pecan
import webob.exc
from oslo_config import cfg

from warre_blazar import policy
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.errors import exceptions
from warre_blazar.policies import messages as policies
from warre_blazar.services.messages import message_settings, recipients


class MessagesController(base.Controller):
    """Whether the caller gets messages about the reservations that the caller has booked."""

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), policies.GET)
        parsing.query(pecan.request, {})
        return _view(message_settings.is_enabled(base.context().user_id))

    @pecan.expose("json")
    def patch(self, *path: str, **_query: Any) -> Any:
        if any(path):
            raise webob.exc.HTTPNotFound
        policy.authorize(base.context(), policies.UPDATE)
        parsing.query(pecan.request, {})
        enabled = base.body(schemas.MESSAGES_UPDATE)["enabled"]
        message_settings.set_enabled(base.context().user_id, enabled)
        return _view(enabled)


def _view(enabled: bool) -> dict[str, Any]:
    sends = bool(cfg.CONF.warre.messengers)
    try:
        address = recipients.address_of(base.context().user_id, base.context().project_id)
    except (exceptions.ServiceUnavailable, exceptions.ServiceRefused):
        # The rest is known nevertheless, and a change has been made.
        return views.messages(enabled, sends=sends, address={})
    return views.messages(enabled, sends=sends, address={"address": address})
