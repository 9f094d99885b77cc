"""Raw requests, with mistakes that a client library would correct."""

import io
import json
from typing import Any

import webob

from tests.unit.api import identity

SPAN = {"start_date": "2100-01-03 09:00", "end_date": "2100-01-03 11:00"}


def slot(flavor: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A reservation of flavor:slot."""
    return {"resource_type": "flavor:slot", "flavor_id": flavor["id"], "amount": 1, **changes}


def lease(*reservations: Any, **changes: Any) -> dict[str, Any]:
    """The body with which python-blazarclient creates a lease. A value of ``...`` omits the key."""
    usual = {
        "name": "lease",
        **SPAN,
        "before_end_date": None,
        "events": [],
        "reservations": list(reservations),
    }
    return {k: v for k, v in {**usual, **changes}.items() if v is not ...}


def send(
    app: Any,
    method: str,
    path: str,
    body: Any = b"",
    *,
    who: str | None = "alpha",
    environ: dict[str, Any] | None = None,
    **headers: str,
) -> webob.Response:
    """A body of bytes is sent as it is, any other as JSON; ``path`` is as a server decodes it."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = webob.Request.blank("/", method=method)
    request.environ |= {
        "PATH_INFO": path,
        "REMOTE_ADDR": "192.0.2.1",
        "HTTP_ACCEPT": "application/json",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(raw)),
        "wsgi.input": io.BytesIO(raw),
    }
    if who is not None:
        request.headers["X-Auth-Token"] = identity.token(who)
    for name, value in headers.items():
        request.headers[name.replace("_", "-")] = value
    for name, value in (environ or {}).items():
        if value is None:
            request.environ.pop(name)
        else:
            request.environ[name] = value
    return request.get_response(app)


def refused(answer: webob.Response) -> tuple[int, str]:
    """The status and the code of an error, which must be in the API's form."""
    assert answer.status_int >= 400, answer
    document = answer.json
    assert document["error_code"] == answer.status_int, answer
    assert document["error_message"], answer
    assert document["error_name"], answer
    return answer.status_int, document["code"]
