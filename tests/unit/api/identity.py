"""Keystone as the whole service uses it: people with tokens, trusts, limits."""

import uuid
from typing import Any

from tests.fakes.keystone import Keystone
from tests.fakes.service import Answer, Refusal, Request

#: People and their roles; each has a project of its own, but the reader, who looks at alpha's.
PEOPLE = {
    "admin": ["admin", "member", "reader"],
    "alpha": ["member", "reader"],
    "beta": ["member", "reader"],
    "reader": ["reader"],
    "nobody": ["other"],
}
LIMITS = {"reservation": 1000, "hours": 100000}
_ENDPOINT = "endpoint-blazar"


def project_id(person: str) -> str:
    return "project-alpha" if person == "reader" else f"project-{person}"


def user_id(person: str) -> str:
    return f"user-{person}"


def token(person: str) -> str:
    return f"token-{person}"


class Identity(Keystone):
    """The service's own logins as in ``Keystone``, and what the API and the manager need more."""

    routes = (
        *Keystone.routes,
        ("GET", "/(?:v3/?)?", "versions"),
        ("GET", "/v3/auth/tokens", "check_token"),
        ("POST", "/v3/OS-TRUST/trusts", "create_trust"),
        ("DELETE", "/v3/OS-TRUST/trusts/([^/]+)", "delete_trust"),
        ("GET", f"/v3/endpoints/{_ENDPOINT}", "show_endpoint"),
        ("GET", "/v3/limits/model", "limit_model"),
        ("GET", "/v3/limits", "list_limits"),
        ("GET", "/v3/registered_limits", "list_registered_limits"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        """No trusts, and the limits as they were."""
        #: As they were asked for, by id.
        self.trusts: dict[str, dict[str, Any]] = {}
        #: Defaults by resource name; and by (project id, name).
        self.registered = dict(LIMITS)
        self.limits: dict[tuple[str, str], int] = {}

    def options(self) -> dict[str, dict[str, str]]:
        """Options by group that lead Keystone's middleware and oslo.limit here."""
        service = {
            "auth_type": "password",
            "auth_url": f"{self.url}/v3",
            "username": "blazar",
            "password": self.password,
            "user_domain_id": "default",
        }
        project = {"project_name": "service", "project_domain_id": "default"}
        return {
            "keystone_authtoken": {**service, **project, "www_authenticate_uri": self.url},
            "oslo_limit": {**service, "system_scope": "all", "endpoint_id": _ENDPOINT},
        }

    def versions(self, request: Request) -> Answer:
        links = [{"rel": "self", "href": f"{self.url}/v3/"}]
        version = {"id": "v3.14", "status": "stable", "links": links}
        if "v3" in request.path:
            return Answer(200, {"version": version})
        return Answer(300, {"versions": {"values": [version]}})

    def log_in(self, request: Request) -> Answer:
        answer = super().log_in(request)
        trust = request.body["auth"].get("scope", {}).get("OS-TRUST:trust")
        if trust:
            if trust["id"] not in self.trusts:
                raise Refusal(404, "Could not find trust")
            granted = self.trusts[trust["id"]]
            answer.body["token"]["project"]["id"] = granted["project_id"]
            answer.body["token"]["roles"] = granted["roles"]
        return answer

    def _person(self, tokens: str | None) -> str:
        found = [person for person in PEOPLE if token(person) == tokens]
        if not found:
            raise Refusal(404, "Could not find token")
        return found[0]

    def check_token(self, request: Request) -> Answer:
        person = self._person(request.headers.get("x-subject-token"))
        body = self._token({"name": person})
        body["user"]["id"] = user_id(person)
        body["project"] |= {"id": project_id(person), "name": person}
        body["roles"] = [{"id": f"role-{role}", "name": role} for role in PEOPLE[person]]
        return Answer(200, {"token": body})

    def create_trust(self, request: Request) -> Answer:
        person = self._person(request.headers.get("x-auth-token"))
        asked = request.body["trust"]
        if asked["trustor_user_id"] != user_id(person):
            raise Refusal(403, "Only the trustor may create a trust")
        if not {role["name"] for role in asked["roles"]} <= set(PEOPLE[person]):
            raise Refusal(403, "The trustor doesn't have the role")
        trust_id = uuid.uuid4().hex
        self.trusts[trust_id] = asked
        return Answer(201, {"trust": {**asked, "id": trust_id}})

    def delete_trust(self, request: Request, trust_id: str) -> Answer:
        self._person(request.headers.get("x-auth-token"))
        if trust_id not in self.trusts:
            raise Refusal(404, "Could not find trust")
        del self.trusts[trust_id]
        return Answer(204)

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
            {
                "id": name,
                "service_id": "service-blazar",
                "region_id": "RegionOne",
                "resource_name": name,
                "default_limit": limit,
            }
            for name, limit in self.registered.items()
            if request.query.get("resource_name") in (None, name)
        ]
        return Answer(200, {"registered_limits": shown})

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
