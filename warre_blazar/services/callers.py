"""Who asks."""

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Caller:
    """A user, as Keystone's middleware found them; ``context`` is what the manager is told."""

    token: str
    user_id: str
    roles: list[str]
    context: Mapping[str, Any]
