"""A fake Keystone: password logins with a catalog, limits, trusts, users and projects."""

import datetime
import re
import uuid
from typing import Any

from tests.fakes.service import Answer, Refusal, Request, Service

LIMITS = {"reservation": 1000, "hours": 100000}
_ENDPOINT = "endpoint-blazar"
_SHOWN_ENDPOINT = {
    "id": _ENDPOINT,
    "service_id": "service-blazar",
    "region_id": "RegionOne",
    "interface": "public",
    "url": "http://blazar.example",
    "enabled": True,
}


class Keystone(Service):
    """A Keystone with one user, which is Blazar's service user."""

    routes: tuple[tuple[str, str, str], ...] = (
        ("POST", "/v3/auth/tokens", "log_in"),
        ("GET", "/(?:v3/?)?", "versions"),
        ("GET", f"/v3/endpoints/{_ENDPOINT}", "show_endpoint"),
        ("GET", "/v3/services", "list_services"),
        ("GET", "/v3/regions/RegionOne", "show_region"),
        ("GET", "/v3/endpoints", "list_endpoints"),
        ("GET", "/v3/limits/model", "limit_model"),
        ("GET", "/v3/limits", "list_limits"),
        ("GET", "/v3/registered_limits", "list_registered_limits"),
        ("POST", "/v3/registered_limits", "create_registered_limits"),
        ("PATCH", "/v3/registered_limits/([^/]+)", "update_registered_limit"),
        ("GET", "/v3/roles", "list_roles"),
        ("PUT", "/v3/system/users/([^/]+)/roles/([^/]+)", "grant_system_role"),
        ("GET", "/v3/users/([^/]+)", "show_user"),
        ("GET", "/v3/projects/([^/]+)", "show_project"),
        ("GET", "/v3/domains/([^/]+)", "show_domain"),
        ("GET", "/v3/role_assignments", "list_role_assignments"),
        ("GET", "/v3/OS-TRUST/trusts", "list_trusts"),
        ("DELETE", "/v3/OS-TRUST/trusts/([^/]+)", "delete_trust"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.forget()
        self.password = "secret"
        self.logins = 0
        self.tokens: set[str] = set()
        #: URLs by service type.
        self.endpoints: dict[str, str] = {}
        #: Who logged in and for what scope, as it was requested.
        self.asked: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def forget(self) -> None:
        """Reset limits, trusts, users, projects, domains and roles."""
        #: The names of the roles that the service user has on the system.
        self.system_roles: list[str] = ["admin"]
        #: Domains by id, and the names of users' roles by the ids of the user and the project.
        self.domains: dict[str, dict[str, Any]] = {"default": {"enabled": True}}
        self.roles: dict[tuple[str, str], list[str]] = {}
        #: Users and projects by id, with attributes such as ``email``.
        self.users: dict[str, dict[str, Any]] = {}
        self.projects: dict[str, dict[str, Any]] = {}
        #: Registered limits by resource name.
        self.registered = dict(LIMITS)
        #: Projects' own limits, by project id and resource name.
        self.limits: dict[tuple[str, str], int] = {}
        #: Trusts by id, as they were requested. Tests of the tables use "trust" for all leases.
        self.trusts: dict[str, dict[str, Any]] = {"trust": {}}

    def login(self) -> dict[str, str]:
        """The options of keystoneauth with which the service user logs in."""
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
        scope = request.body["auth"].get("scope", {})
        if "system" in scope and not self.system_roles:
            raise Refusal(401, "The request you have made requires authentication.")
        self.logins += 1
        self.asked.append((user, scope))
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
            "user": {"id": "user-blazar", "name": user.get("name", "blazar"), "domain": domain},
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
        """Refuse all tokens that were issued, as after a rotation of keys."""
        with self.lock:
            self.tokens.clear()

    def show_endpoint(self, request: Request) -> Answer:
        return Answer(200, {"endpoint": _SHOWN_ENDPOINT})

    def list_services(self, request: Request) -> Answer:
        is_asked = request.query.get("type") in (None, "reservation")
        shown = {"id": "service-blazar", "type": "reservation", "name": "blazar"}
        return Answer(200, {"services": [shown] if is_asked else []})

    def show_region(self, request: Request) -> Answer:
        return Answer(200, {"region": {"id": "RegionOne", "description": ""}})

    def list_endpoints(self, request: Request) -> Answer:
        """As Keystone, filter by these three keys, and ignore all others."""
        asked = {k: request.query.get(k) for k in ("service_id", "region_id", "interface")}
        is_asked = all(v in (None, _SHOWN_ENDPOINT[k]) for k, v in asked.items())
        return Answer(200, {"endpoints": [_SHOWN_ENDPOINT] if is_asked else []})

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
        requested = request.body["registered_limits"]
        self.registered |= {limit["resource_name"]: limit["default_limit"] for limit in requested}
        shown = [self._registered(limit["resource_name"]) for limit in requested]
        return Answer(201, {"registered_limits": shown})

    def update_registered_limit(self, request: Request, name: str) -> Answer:
        self.registered[name] = request.body["registered_limit"]["default_limit"]
        return Answer(200, {"registered_limit": self._registered(name)})

    def list_roles(self, request: Request) -> Answer:
        roles = [{"id": f"role-{name}", "name": name} for name in ("admin", "member", "reader")]
        shown = [role for role in roles if request.query.get("name") in (None, role["name"])]
        return Answer(200, {"roles": shown})

    def grant_system_role(self, request: Request, user_id: str, role_id: str) -> Answer:
        if user_id != "user-blazar":
            raise Refusal(404, f"Could not find user: {user_id}.")
        self.system_roles.append(role_id.removeprefix("role-"))
        return Answer(204)

    def show_user(self, request: Request, user_id: str) -> Answer:
        return self._shown("user", self.users, user_id)

    def show_project(self, request: Request, project_id: str) -> Answer:
        return self._shown("project", self.projects, project_id)

    def show_domain(self, request: Request, domain_id: str) -> Answer:
        return self._shown("domain", self.domains, domain_id)

    def list_role_assignments(self, request: Request) -> Answer:
        """The roles of one user in one project, as Keystone shows them with their names."""
        query = request.query
        if query.get("effective") is None or query.get("include_names") is None:
            raise Refusal(400, "The fake knows only effective roles with names")
        user_id, project_id = query["user.id"], query["scope.project.id"]
        self._check_id("scope.project.id", project_id)
        shown = [
            {
                "role": {"id": f"role-{name}", "name": name},
                "user": {"id": user_id},
                "scope": {"project": {"id": project_id}},
            }
            for name in self.roles_of(user_id, project_id)
        ]
        return Answer(200, {"role_assignments": shown})

    @staticmethod
    def _check_id(name: str, value: str) -> None:
        if not re.fullmatch("[a-zA-Z0-9-]{1,64}", value):
            raise Refusal(400, f"Invalid input for field/attribute {name}. Value: {value}.")

    def roles_of(self, user_id: str, project_id: str) -> list[str]:
        """The names of the roles that a user has in a project."""
        return self.roles.get((user_id, project_id), [])

    @staticmethod
    def _shown(noun: str, items: dict[str, dict[str, Any]], identity: str) -> Answer:
        if identity not in items:
            raise Refusal(404, f"Could not find {noun}: {identity}.")
        return Answer(200, {noun: {"id": identity, **items[identity]}})

    def list_trusts(self, request: Request) -> Answer:
        if request.query.get("trustee_user_id") != "user-blazar":
            raise Refusal(403, "You are not authorized to list these trusts")
        shown = [{**self.trusts[i], "id": i} for i in self.trusts]
        return Answer(200, {"trusts": shown})

    def delete_trust(self, request: Request, trust_id: str) -> Answer:
        if self.trusts.pop(trust_id, None) is None:
            raise Refusal(404, "Could not find trust")
        return Answer(204)

    def list_limits(self, request: Request) -> Answer:
        if "project_id" in request.query:
            self._check_id("project_id", request.query["project_id"])
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
    """A service that requires a token of ``keystone``."""

    def __init__(self, keystone: Keystone) -> None:
        super().__init__()
        self.keystone = keystone

    def answer(self, request: Request) -> Answer:
        if request.headers.get("x-auth-token") not in self.keystone.tokens:
            return self.refuse(401, "no such token")
        return super().answer(request)
