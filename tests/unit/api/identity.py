"""A fake Keystone with what the whole service needs of it: users with tokens, and trusts."""

import uuid
from typing import Any

from tests.fakes.keystone import Keystone
from tests.fakes.service import Answer, Refusal, Request

#: The users whose tokens are for no project, and the scope that Keystone says they have instead.
SCOPES: dict[str, dict[str, Any]] = {
    "unscoped": {},
    "domain": {"domain": {"id": "default", "name": "Default"}},
    "system": {"system": {"all": True}},
}

#: Users and their roles. Each has a project of their own, except those who are in alpha's.
PEOPLE = {
    "admin": ["admin", "member", "reader"],
    "alpha": ["member", "reader"],
    "colleague": ["member", "reader"],
    "beta": ["member", "reader"],
    "reader": ["reader"],
    "nobody": ["other"],
    **{name: ["admin", "member", "reader"] for name in SCOPES},
}


#: Further projects, in which none of these people has a role.
OTHERS = ("another", "p", "q", "project-x", *(f"p{number}" for number in range(7)))

#: Keystone's answers to a login with a trust, by what has happened to the trust's user.
REFUSALS = {"disabled": 403, "no role": 403, "deleted": 404, "project disabled": 401}


def project_id(person: str) -> str:
    return "project-alpha" if person in ("reader", "colleague") else f"project-{person}"


def user_id(person: str) -> str:
    return f"user-{person}"


def token(person: str) -> str:
    return f"token-{person}"


class Identity(Keystone):
    """A ``Keystone`` that also has what the API and the manager need of it."""

    routes = (
        *Keystone.routes,
        ("GET", "/v3/auth/tokens", "check_token"),
        ("POST", "/v3/OS-TRUST/trusts", "create_trust"),
    )

    def forget(self) -> None:
        """Remove all trusts, and reset the limits and the projects."""
        super().forget()
        self.projects = {name: {"domain_id": "default"} for name in OTHERS}
        self.trusts = {}
        #: How logins with the trusts of people who are gone are refused.
        self.gone: dict[str, int] = {}

    def lose(self, person: str, how: str) -> None:
        """Let a user be gone, in the way that a key of ``REFUSALS`` names."""
        if how == "deleted":
            mine = [i for i, t in self.trusts.items() if t["trustor_user_id"] == user_id(person)]
            for trust_id in mine:
                del self.trusts[trust_id]
        self.gone[person] = REFUSALS[how]

    def _person_of(self, user_id: str) -> str | None:
        person = user_id.removeprefix("user-")
        return person if person in PEOPLE else None

    def show_user(self, request: Request, user_id: str) -> Answer:
        person = self._person_of(user_id)
        if user_id in self.users or person is None:
            return super().show_user(request, user_id)
        if self.gone.get(person) == REFUSALS["deleted"]:
            raise Refusal(404, f"Could not find user: {user_id}.")
        enabled = self.gone.get(person) != REFUSALS["disabled"]
        shown = {"id": user_id, "enabled": enabled, "domain_id": "default"}
        shown["email"] = f"{person}@example.org"
        return Answer(200, {"user": shown})

    def show_project(self, request: Request, project: str) -> Answer:
        owners = [person for person in PEOPLE if project_id(person) == project]
        if project in self.projects or not owners:
            return super().show_project(request, project)
        lost = REFUSALS["project disabled"]
        enabled = all(self.gone.get(person) != lost for person in owners)
        return Answer(200, {"project": {"id": project, "enabled": enabled, "domain_id": "default"}})

    def roles_of(self, user_id: str, project: str) -> list[str]:
        """The roles of a user of ``PEOPLE`` in their own project, unless a test says others."""
        person = self._person_of(user_id)
        if (user_id, project) in self.roles or person is None or person in self.gone:
            return super().roles_of(user_id, project)
        return list(PEOPLE[person]) if project_id(person) == project else []

    def options(self) -> dict[str, dict[str, str]]:
        """The options, by group, that make Keystone's middleware and oslo.limit use this one."""
        project = {"project_name": "service", "project_domain_id": "default"}
        return {
            "keystone_authtoken": {**self.login(), **project, "www_authenticate_uri": self.url},
            "oslo_limit": self.limit_options(),
        }

    def log_in(self, request: Request) -> Answer:
        answer = super().log_in(request)
        trust = request.body["auth"].get("scope", {}).get("OS-TRUST:trust")
        if trust:
            if trust["id"] not in self.trusts:
                raise Refusal(404, "Could not find trust")
            granted = self.trusts[trust["id"]]
            for person, status in self.gone.items():
                if granted["trustor_user_id"] == user_id(person):
                    raise Refusal(status, "The trust is refused")
            answer.body["token"]["project"]["id"] = granted["project_id"]
            answer.body["token"]["roles"] = granted["roles"]
        return answer

    def _person(self, tokens: str | None) -> str:
        found = [p for p in PEOPLE if token(p) == tokens and p not in self.gone]
        if not found:
            raise Refusal(404, "Could not find token")
        return found[0]

    def check_token(self, request: Request) -> Answer:
        person = self._person(request.headers.get("x-subject-token"))
        body = self._token({"name": person})
        body["user"]["id"] = user_id(person)
        body["project"] |= {"id": project_id(person), "name": person}
        body["roles"] = [{"id": f"role-{role}", "name": role} for role in PEOPLE[person]]
        if person in SCOPES:
            del body["project"]
            body |= SCOPES[person]
        if SCOPES.get(person) == {}:
            del body["roles"], body["catalog"]
        return Answer(200, {"token": body})

    def create_trust(self, request: Request) -> Answer:
        person = self._person(request.headers.get("x-auth-token"))
        asked = request.body["trust"]
        if asked["trustor_user_id"] != user_id(person):
            raise Refusal(403, "Only the trustor may create a trust")
        if asked["project_id"] != project_id(person):
            raise Refusal(404, "The trustor has no role in the project")
        if not {role["name"] for role in asked["roles"]} <= set(PEOPLE[person]):
            raise Refusal(403, "The trustor doesn't have the role")
        trust_id = uuid.uuid4().hex
        self.trusts[trust_id] = asked
        return Answer(201, {"trust": {**asked, "id": trust_id}})

    def delete_trust(self, request: Request, trust_id: str) -> Answer:
        if request.headers.get("x-auth-token") not in self.tokens:
            self._person(request.headers.get("x-auth-token"))
        return super().delete_trust(request, trust_id)
