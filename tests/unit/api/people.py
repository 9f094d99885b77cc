"""Users of the API. Every answer that they get is checked against the OpenAPI document."""

import json
from typing import Any

import webtest

from tests.unit.api import contract, identity

Answer = webtest.TestResponse


class Person:
    """A user with a token. Paths are relative to ``root`` unless they begin with a slash."""

    def __init__(self, app: Any, name: str | None, root: str = "/v2") -> None:
        self._app = webtest.TestApp(app)
        self.root = root
        self.name = name
        self.project_id = identity.project_id(name or "")
        self.user_id = identity.user_id(name or "")

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """A body of bytes is sent as it is, any other as JSON."""
        if not path.startswith(("/", "http:", "https:")):
            path = f"{self.root}/{path}"
        if body is None:
            body = b""
        elif not isinstance(body, bytes):
            body = json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **(headers or {})}
        if self.name is not None:
            sent["X-Auth-Token"] = identity.token(self.name)
        answer = self._app.request(path, method=method, body=body, headers=sent, expect_errors=True)
        contract.check(method, answer.request.path, answer)
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, body: Any) -> Answer:
        return self.send("POST", path, body)

    def patch(self, path: str, body: Any) -> Answer:
        return self.send("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        return self.send("DELETE", path)


def refusal(answer: Answer) -> tuple[int, str]:
    """The status and the code of an error."""
    assert answer.status_int >= 400, answer
    assert answer.json["error_code"] == answer.status_int
    return answer.status_int, answer.json["code"]
