"""Lets a form be carried out only once, however often the browser sends it.

The page of such a form has a key. The browser's Back button brings the key back with the form. The
API creates nothing twice for a key, and a cookie remembers where a key has led. It isn't the cookie
of the session: Horizon sets that one with every response, as it was at the request. A request that
began before a form was sent, and was answered after it, would take the form's entry away.
"""

import dataclasses
import hashlib
import json
import uuid
from typing import Any

from django.conf import settings

#: The hidden field with the key.
FIELD = "one_time_key"
#: A signed cookie with a list in JSON. Its items are lists of key, digest of values, and address.
COOKIE = "flavor_reservations_sent"
#: So many keys are remembered. A cookie has room for 4096 bytes.
_REMEMBERED = 10


@dataclasses.dataclass(frozen=True)
class Sent:
    """A form that was sent before.

    :ivar where: the address that it led to. None: it isn't known.
    :ivar is_same: whether it had the same values as the form that is sent now.
    """

    where: str | None
    is_same: bool


#: The API knows the key with another request. So the form was sent, perhaps without an answer.
UNKNOWN = Sent(None, is_same=False)


def new_key() -> str:
    """Return the key for a page."""
    return str(uuid.uuid4())


def idempotency_key(request: Any) -> str | None:
    """Return the key for the API of the form that a request sends.

    With other values, it is another key: after a refusal, the user may change the form.
    """
    key = request.POST.get(FIELD)
    return _digest([key, _values(request)]) if key else None


def before(request: Any) -> Sent | None:
    """Return what was sent with the key of the form before."""
    for known, values, where in _remembered(request):
        if known == request.POST.get(FIELD):
            return Sent(where, values == _digest(_values(request)))
    return None


def remember(request: Any, response: Any) -> None:
    """Remember in a response that the form of a request was carried out.

    :param response: leads to the page that shows what has come of it.
    """
    if key := request.POST.get(FIELD):
        latest = [key, _digest(_values(request)), response["Location"]]
        response.set_signed_cookie(
            COOKIE,
            json.dumps([*_remembered(request)[1 - _REMEMBERED :], latest]),
            path=settings.SESSION_COOKIE_PATH,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def _remembered(request: Any) -> list[list[str]]:
    found: list[list[str]] = json.loads(request.get_signed_cookie(COOKIE, "[]"))
    return found


def _values(request: Any) -> Any:
    """What a form has sent, without what differs from page to page."""
    fixed = ("csrfmiddlewaretoken", FIELD)
    return [request.path, {name: v for name, v in request.POST.lists() if name not in fixed}]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]
