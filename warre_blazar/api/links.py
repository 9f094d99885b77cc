"""Finds the URL by which a client reaches the API, for links in answers."""

import webob
from oslo_middleware import http_proxy_to_wsgi

from warre_blazar import texts
from warre_blazar.errors import exceptions


def as_sent(request: webob.Request) -> webob.Request:
    """A copy of a request with the scheme, the host and the path that its client has used.

    The headers with which a proxy says this are used even if Blazar isn't configured to trust them.
    They change nothing but links. Only the client that sent the headers gets the links.

    :returns: a request without a body.
    :raises InvalidField: the path in the headers isn't UTF-8.
    """
    seen = request.copy_get()
    # A server that serves at the root of its host needn't set this variable.
    seen.environ.setdefault("SCRIPT_NAME", "")
    proxy = http_proxy_to_wsgi.HTTPProxyToWSGI(None, {"enable_proxy_headers_parsing": True})
    proxy.process_request(seen)
    try:
        seen.script_name.encode()
    except UnicodeError:
        raise exceptions.InvalidField("X-Forwarded-Prefix", texts.expected.UTF8()) from None
    return seen
