"""The users of the cloud, and the requests that they can send."""

import os
from typing import Any

import openstack
import requests

_TIMEOUT = 200


class Person:
    """A user of the cloud."""

    def __init__(
        self, name: str, project: str | None = None, credential: Any | None = None
    ) -> None:
        """
        :param project: the name of the user's project, if it isn't the user's own name.
        :param credential: an application credential with which the user logs in.
        """
        self.name = name
        if credential is not None:
            kind = "v3applicationcredential"
            login = {
                "application_credential_id": credential.id,
                "application_credential_secret": credential.secret,
            }
        else:
            kind = "password"
            login = {
                "username": name,
                "password": os.environ["OS_PASSWORD"],
                "project_name": project or name,
                "user_domain_id": "default",
                "project_domain_id": "default",
            }
        self.cloud = openstack.connect(
            auth_type=kind,
            auth={"auth_url": os.environ["OS_AUTH_URL"], **login},
            region_name=os.environ["OS_REGION_NAME"],
            load_envvars=False,
            load_yaml_config=False,
        )
        self._root = self.cloud.endpoint_for("reservation").removesuffix("/v1")
        self._keystone = os.environ["OS_AUTH_URL"]

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> requests.Response:
        """Send a request to Blazar's API. Error responses are returned too, and don't raise."""
        return self.cloud.session.request(
            self._root + path, method, json=body, raise_exc=False, timeout=_TIMEOUT, **options
        )

    def asks(self, method: str, path: str, body: Any = None, want: int = 200) -> Any:
        """Send a request that must be answered with status ``want``. Return the response's JSON."""
        answer = self.ask(method, path, body)
        assert answer.status_code == want, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def trusts(self) -> set[str]:
        """The ids of the trusts whose trustor is this user."""
        query = f"/OS-TRUST/trusts?trustor_user_id={self.cloud.current_user_id}"
        found = self.cloud.session.get(self._keystone + query).json()["trusts"]
        return {trust["id"] for trust in found}

    def boots(
        self,
        flavor: str,
        name: str,
        *,
        image_id: str | None = None,
        zone: str | None = None,
        **hints: str,
    ) -> Any:
        """Request a server from Nova. It may still fail afterwards."""
        more = {} if zone is None else {"availability_zone": zone}
        return self.cloud.compute.create_server(
            **more,
            scheduler_hints=hints,
            name=name,
            image_id=image_id or self.cloud.image.find_image("tiny").id,
            flavor_id=flavor,
            networks=[{"uuid": self.cloud.network.find_network("shared").id}],
        )

    def server_settles(self, server: Any) -> Any:
        """The server if its status is ACTIVE or ERROR, else None."""
        shown = self.cloud.compute.get_server(server.id)
        return shown if shown.status in ("ACTIVE", "ERROR") else None


def newcomer(admin: Person, name: str) -> tuple[Person, Any, Any]:
    """Create a user in a project of its own, both with this name: the person, user and project."""
    identity = admin.cloud.identity
    project = identity.create_project(name=name, domain_id="default")
    user = identity.create_user(
        name=name,
        password=os.environ["OS_PASSWORD"],
        domain_id="default",
        default_project_id=project.id,
    )
    identity.assign_project_role_to_user(project, user, identity.find_role("member"))
    return Person(name), user, project
