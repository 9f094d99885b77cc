"""What our clients use of Keystone: password logins with a catalogue."""

import datetime
import uuid
from typing import Any

from tests.fakes.service import Answer, Refusal, Request, Service


class Keystone(Service):
    """Tokens for one service user."""

    routes = (("POST", "/v3/auth/tokens", "log_in"),)

    def __init__(self) -> None:
        super().__init__()
        self.password = "secret"
        self.logins = 0
        self.tokens: set[str] = set()
        #: URLs by service type.
        self.endpoints: dict[str, str] = {}

    def log_in(self, request: Request) -> Answer:
        user = request.body["auth"]["identity"]["password"]["user"]
        if user["password"] != self.password:
            raise Refusal(401, "The request you have made requires authentication.")
        self.logins += 1
        token = uuid.uuid4().hex
        self.tokens.add(token)
        body = {"token": self._token(user)}
        return Answer(201, body, {"X-Subject-Token": token})

    def _token(self, user: dict[str, Any]) -> dict[str, Any]:
        domain = {"id": "default", "name": "Default"}
        issued = datetime.datetime.now(datetime.UTC)
        expires = issued + datetime.timedelta(hours=1)
        return {
            "methods": ["password"],
            "user": {"id": "user-blazar", "name": user["name"], "domain": domain},
            "project": {"id": "project-service", "name": "service", "domain": domain},
            "roles": [{"id": "role-admin", "name": "admin"}],
            "issued_at": issued.strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
            "expires_at": expires.strftime("%Y-%m-%dT%H:%M:%S.000000Z"),
            "catalog": [self._entry(kind, url) for kind, url in self.endpoints.items()],
        }

    @staticmethod
    def _entry(kind: str, url: str) -> dict[str, Any]:
        return {
            "type": kind,
            "name": kind,
            "id": kind,
            "endpoints": [
                {
                    "id": f"{kind}-{interface}",
                    "interface": interface,
                    "region": "RegionOne",
                    "region_id": "RegionOne",
                    "url": url,
                }
                for interface in ("public", "internal", "admin")
            ],
        }

    def forget_tokens(self) -> None:
        """Let every token be refused from now on, as after a rotation of keys."""
        with self.lock:
            self.tokens.clear()


class Guarded(Service):
    """A service that asks for a token of ``keystone``."""

    def __init__(self, keystone: Keystone) -> None:
        super().__init__()
        self.keystone = keystone

    def answer(self, request: Request) -> Answer:
        if request.headers.get("x-auth-token") not in self.keystone.tokens:
            return self.refuse(401, "no such token")
        return super().answer(request)
