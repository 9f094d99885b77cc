"""Lets a form be carried out only once, however often the browser sends it.

The page of such a form has a key. The browser's Back button brings the key back with the form. The
API creates nothing twice for a key, and the user's session remembers where a key has led.
"""

import dataclasses
import hashlib
import json
import uuid
from typing import Any

#: The hidden field with the key.
FIELD = "one_time_key"
_SESSION = "flavor_reservations_sent"
#: So many keys are remembered. A session may be a cookie, which has little room.
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
    for known, values, where in request.session.get(_SESSION, ()):
        if known == request.POST.get(FIELD):
            return Sent(where, values == _digest(_values(request)))
    return None


def remember(request: Any, where: str) -> None:
    """Remember that the form of a request was carried out, and the address that it led to."""
    if key := request.POST.get(FIELD):
        known = request.session.get(_SESSION, [])
        latest = [key, _digest(_values(request)), where]
        request.session[_SESSION] = [*known[1 - _REMEMBERED :], latest]


def _values(request: Any) -> Any:
    """What a form has sent, without what differs from page to page."""
    fixed = ("csrfmiddlewaretoken", FIELD)
    return [request.path, {name: v for name, v in request.POST.lists() if name not in fixed}]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]
