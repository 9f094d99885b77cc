"""What tests ask Placement for, as its administrator."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import requests

from tests.functional.cloud.people import Person

#: Nova's scheduler uses this microversion.
_HEADERS = {"OpenStack-API-Version": "placement 1.36"}


class Placement:
    """The requests to Placement that the tests need."""

    def __init__(self, admin: Person) -> None:
        self._session = admin.cloud.placement
        self._owner = {
            "project_id": admin.cloud.current_project_id,
            "user_id": admin.cloud.current_user_id,
        }

    def ask(self, method: str, path: str, body: Any = None) -> requests.Response:
        """Send a request. Error responses are returned too.

        A request that met a deadlock is sent again, because Placement gives up at the first one.
        """
        while True:
            answer = self._session.request(
                path, method, json=body, headers=_HEADERS, raise_exc=False
            )
            if answer.status_code != 500 or "Deadlock found" not in answer.text:
                return answer

    def asks(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request that must succeed, and return the response's JSON."""
        answer = self.ask(method, path, body)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def candidates(self, query: str, root: str) -> list[dict[str, Any]]:
        """The allocations on one tree that an instance could have, by Nova's query."""
        path = f"/allocation_candidates?{query}&in_tree={root}"
        return list(self.asks("GET", path)["allocation_requests"])

    def allocate(self, candidate: Mapping[str, Any]) -> str | None:
        """Make a new consumer with the allocations of a candidate, and return the consumer's id.

        None if Placement refuses that.
        """
        consumer = str(uuid.uuid4())
        body = {**candidate, **self._owner, "consumer_generation": None}
        answer = self.ask("PUT", f"/allocations/{consumer}", body)
        assert answer.status_code in (204, 409), answer.text
        return consumer if answer.status_code == 204 else None

    def free(self, consumers: Sequence[str]) -> None:
        """Delete the allocations of consumers."""
        for consumer in consumers:
            self.asks("DELETE", f"/allocations/{consumer}")
