"""The user who sends a request."""

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Caller:
    """The user who sends a request, as Keystone's middleware has identified them."""

    user_id: str
    #: The request context to send to the manager with each RPC call.
    context: Mapping[str, Any]
