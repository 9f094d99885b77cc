"""The controller of /messages: whether a user gets messages."""

import contextlib
from typing import Any

import pecan
import webob.exc
from oslo_config import cfg

from warre_blazar import policy
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.errors import exceptions
from warre_blazar.policies import messages as policies
from warre_blazar.policies import reservations
from warre_blazar.services.messages import message_settings, recipients, webhooks
from warre_blazar.site_rules import webhooks as allowed_webhooks


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
    context, more = base.context(), {}
    # If Keystone can't be asked, the rest is known nevertheless, and a change has been made.
    with contextlib.suppress(exceptions.ServiceUnavailable, exceptions.ServiceRefused):
        more["address"] = recipients.address_of(context.user_id, context.project_id)
    if allowed_webhooks.hosts() and policy.allows(context, reservations.CREATE):
        more["webhook_key"] = webhooks.key_of(context.project_id)
    return views.messages(enabled, sends=bool(cfg.CONF.warre.messengers), more=more)
