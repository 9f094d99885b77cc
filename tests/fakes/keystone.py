"""What our clients use of Keystone: password logins with a catalogue."""

import datetime
import uuid
from typing import Any

from tests.fakes.service import Answer, Refusal, Request, Service

LIMITS = {"reservation": 1000, "hours": 100000}
_ENDPOINT = "endpoint-blazar"


class Keystone(Service):
    """Tokens for one service user, and limits."""

    routes: tuple[tuple[str, str, str], ...] = (
        ("POST", "/v3/auth/tokens", "log_in"),
        ("GET", "/(?:v3/?)?", "versions"),
        ("GET", f"/v3/endpoints/{_ENDPOINT}", "show_endpoint"),
        ("GET", "/v3/limits/model", "limit_model"),
        ("GET", "/v3/limits", "list_limits"),
        ("GET", "/v3/registered_limits", "list_registered_limits"),
        ("POST", "/v3/registered_limits", "create_registered_limits"),
        ("PATCH", "/v3/registered_limits/([^/]+)", "update_registered_limit"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.forget()
        self.password = "secret"
        self.logins = 0
        self.tokens: set[str] = set()
        #: URLs by service type.
        self.endpoints: dict[str, str] = {}

    def forget(self) -> None:
        """The limits as they were."""
        #: Defaults by resource name; and by (project id, name).
        self.registered = dict(LIMITS)
        self.limits: dict[tuple[str, str], int] = {}

    def login(self) -> dict[str, str]:
        """Options of keystoneauth by which the service user logs in."""
        return {
            "auth_type": "password",
            "auth_url": f"{self.url}/v3",
            "username": "blazar",
            "password": self.password,
            "user_domain_id": "default",
        }

    def limit_options(self) -> dict[str, str]:
        """The options of [oslo_limit]."""
        return {**self.login(), "system_scope": "all", "endpoint_id": _ENDPOINT}

    def versions(self, request: Request) -> Answer:
        links = [{"rel": "self", "href": f"{self.url}/v3/"}]
        version = {"id": "v3.14", "status": "stable", "links": links}
        if "v3" in request.path:
            return Answer(200, {"version": version})
        return Answer(300, {"versions": {"values": [version]}})

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

    def show_endpoint(self, request: Request) -> Answer:
        shown = {
            "id": _ENDPOINT,
            "service_id": "service-blazar",
            "region_id": "RegionOne",
            "interface": "public",
            "url": "http://blazar.example",
            "enabled": True,
        }
        return Answer(200, {"endpoint": shown})

    def limit_model(self, request: Request) -> Answer:
        return Answer(200, {"model": {"name": "flat", "description": ""}})

    def list_registered_limits(self, request: Request) -> Answer:
        shown = [
            self._registered(name)
            for name in self.registered
            if request.query.get("resource_name") in (None, name)
        ]
        return Answer(200, {"registered_limits": shown})

    def _registered(self, name: str) -> dict[str, Any]:
        return {
            "id": name,
            "service_id": "service-blazar",
            "region_id": "RegionOne",
            "resource_name": name,
            "default_limit": self.registered[name],
        }

    def create_registered_limits(self, request: Request) -> Answer:
        asked = request.body["registered_limits"]
        self.registered |= {each["resource_name"]: each["default_limit"] for each in asked}
        shown = [self._registered(each["resource_name"]) for each in asked]
        return Answer(201, {"registered_limits": shown})

    def update_registered_limit(self, request: Request, name: str) -> Answer:
        self.registered[name] = request.body["registered_limit"]["default_limit"]
        return Answer(200, {"registered_limit": self._registered(name)})

    def list_limits(self, request: Request) -> Answer:
        shown = [
            {
                "id": f"{project}-{name}",
                "service_id": "service-blazar",
                "region_id": "RegionOne",
                "project_id": project,
                "resource_name": name,
                "resource_limit": limit,
            }
            for (project, name), limit in self.limits.items()
            if request.query.get("project_id") in (None, project)
            and request.query.get("resource_name") in (None, name)
        ]
        return Answer(200, {"limits": shown})


class Guarded(Service):
    """A service that asks for a token of ``keystone``."""

    def __init__(self, keystone: Keystone) -> None:
        super().__init__()
        self.keystone = keystone

    def answer(self, request: Request) -> Answer:
        if request.headers.get("x-auth-token") not in self.keystone.tokens:
            return self.refuse(401, "no such token")
        return super().answer(request)
