"""A fake Cyborg, with device profiles."""

import json
from typing import Any

from tests.fakes.keystone import Guarded, Keystone
from tests.fakes.service import Answer, Request


class Cyborg(Guarded):
    """A Cyborg whose ``profiles`` are groups by name. ``url`` is the one in Keystone's catalog."""

    routes = (("GET", "/accelerator/v2/device_profiles/?", "list_profiles"),)

    def __init__(self, keystone: Keystone) -> None:
        super().__init__(keystone)
        self.url = f"{self.url}/accelerator/v2"
        self.profiles: dict[str, Any] = {}
        #: If it is set, the body of each answer.
        self.body: Any = None

    def list_profiles(self, request: Request) -> Answer:
        """List profiles; ``name`` in the query may name several, as in the real one."""
        names = request.query["name"].split(",") if "name" in request.query else list(self.profiles)
        if self.body is not None:
            return Answer(200, self.body)
        shown = [
            {
                "uuid": f"uuid-{name}",
                "name": name,
                "description": None,
                "groups": groups,
                "created_at": "2026-01-01T00:00:00+00:00",
                "updated_at": None,
                "links": [{"rel": "self", "href": f"{self.url}/device_profiles/uuid-{name}"}],
            }
            for name, groups in self.profiles.items()
            if name in names
        ]
        return Answer(200, {"device_profiles": shown})

    def refuse(self, status: int, reason: str) -> Answer:
        """An error in the form that Cyborg's middleware gives to all errors."""
        said = {"faultcode": "Server", "faultstring": reason, "debuginfo": None}
        return Answer(status, {"error_message": json.dumps(said)})
