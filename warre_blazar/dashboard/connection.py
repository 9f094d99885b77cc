"""Makes clients of the API that send their requests as the user who is logged in."""

import functools
from typing import Any

from django.conf import settings
from django.utils.translation import gettext
from keystoneauth1 import session, token_endpoint
from openstack_dashboard.api import base

from warre_blazar import texts
from warre_blazar.client import Client
from warre_blazar.dashboard import moments, names, once, times

#: Who reads a page: the texts are in the language and the zone of the request's user.
READER = texts.reader(moments.when, gettext)


def client(request: Any) -> Client:
    """Return a client with the token, project and region of the user who sent a request.

    All callers within one request share a client, and thereby its connection.
    """
    if not hasattr(request, "reservations_client"):
        request.reservations_client = _connect(request)
    connected: Client = request.reservations_client
    return connected


def _connect(request: Any) -> Client:
    endpoint = base.url_for(request, "reservation")
    verify = not settings.OPENSTACK_SSL_NO_VERIFY and (settings.OPENSTACK_SSL_CACERT or True)
    login = token_endpoint.Token(endpoint, request.user.token.id)
    connected = session.Session(auth=login, verify=verify, timeout=times.REQUEST_TIMEOUT)
    return Client(
        connected,
        idempotency_key=once.idempotency_key(request),
        reader=texts.reader(moments.when, gettext, functools.partial(_user, request)),
    )


def _user(request: Any, user_id: str) -> str:
    """The name of a user, as far as the reader of the page may know it."""
    known = {request.user.id: request.user.username}
    return names.known_users(request, known).get(user_id, user_id)
