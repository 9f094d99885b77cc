"""Reads and sets projects' limits in Keystone, with the credentials of the command's user."""

import dataclasses
from typing import Any

from keystoneauth1 import exceptions as ksa
from keystoneauth1 import session as keystone
from keystoneauth1.identity import v3

from warre_blazar.cli import times
from warre_blazar.cli.failure import Failure

_KEYSTONE = {"endpoint_filter": {"service_type": "identity", "min_version": (3, 0)}}
_FORBIDDEN = 403
_CONFLICT = 409


@dataclasses.dataclass(frozen=True)
class KeystoneLimit:
    """A project's limit of a resource.

    If the project has no limit of its own, ``id`` and ``value`` are None, and the default applies.
    """

    resource: str
    default: int
    value: int | None
    id: str | None
    #: The service and the region of the limit, as ``service_id`` and ``region_id``.
    place: dict[str, Any]


class KeystoneLimits:
    """Reads and changes limits in Keystone, as far as Keystone allows it.

    :param session: a session that is authenticated as the user.
    :param service_type: the type of the service that the limits belong to.
    """

    def __init__(self, session: Any, service_type: str) -> None:
        self._session, self._endpoint = _system_session(session)
        self._service_type = service_type

    def get(self, project_id: str, resource: str) -> KeystoneLimit:
        """Return a project's limit of a resource.

        :raises Failure: the limit isn't registered, or Keystone refuses or doesn't answer.
        """
        registered = self._registered(resource)
        place = {name: registered[name] for name in ("service_id", "region_id")}
        query = {"project_id": project_id, "resource_name": resource}
        limits = self._request("GET", "/limits", params=query)["limits"]
        own = [limit for limit in limits if all(limit[name] == v for name, v in place.items())]
        value, limit_id = (own[0]["resource_limit"], own[0]["id"]) if own else (None, None)
        return KeystoneLimit(resource, registered["default_limit"], value, limit_id, place)

    def set(self, project_id: str, limit: KeystoneLimit, value: int | None) -> None:
        """Set a project's limit.

        :param value: the new limit. None removes the project's own limit, so that the default
            applies.
        :raises Failure: Keystone refuses the request or doesn't answer.
        """
        if value is None:
            if limit.id is not None:
                self._request("DELETE", f"/limits/{limit.id}")
        elif limit.id is not None:
            body = {"limit": {"resource_limit": value}}
            self._request("PATCH", f"/limits/{limit.id}", json=body)
        else:
            new_limit = {
                **limit.place,
                "project_id": project_id,
                "resource_name": limit.resource,
                "resource_limit": value,
            }
            self._request("POST", "/limits", json={"limits": [new_limit]})

    def _registered(self, resource: str) -> dict[str, Any]:
        query = {"resource_name": resource}
        registered = self._request("GET", "/registered_limits", params=query)["registered_limits"]
        if len(registered) > 1:
            services = self._request("GET", "/services", params={"type": self._service_type})
            ids = {service["id"] for service in services["services"]}
            registered = [limit for limit in registered if limit["service_id"] in ids]
        if not registered:
            raise Failure(
                f"The limit {resource!r} isn't registered in Keystone; the operator registers it "
                "with warre-blazar-manage quota register"
            )
        if len(registered) > 1:
            regions = ", ".join(str(limit["region_id"]) for limit in registered)
            raise Failure(
                f"The limit {resource!r} is registered for several regions ({regions}); use "
                "openstack limit create and openstack limit set, which take a region"
            )
        return dict(registered[0])

    def _request(self, method: str, path: str, **options: Any) -> Any:
        try:
            answer = self._session.request(
                path,
                method,
                **self._endpoint,
                timeout=times.REQUEST_TIMEOUT,
                raise_exc=False,
                **options,
            )
            document = answer.json() if answer.content else {}
        except (ksa.ClientException, ValueError) as error:
            raise Failure(f"Keystone doesn't answer: {error}") from error
        if answer.status_code < 400:
            return document
        raise Failure(_refusal(answer.status_code, document))


def _refusal(status: int, document: Any) -> str:
    if status == _FORBIDDEN:
        return (
            "Keystone doesn't allow you to change limits; this takes the role admin on the system"
        )
    if status == _CONFLICT:
        return (
            "The project has a limit of its own already, which Keystone shows only to users with "
            "the role admin on the system; change the limit as such a user"
        )
    message = document.get("error", {}).get("message") if isinstance(document, dict) else None
    return f"Keystone refused: {status} {message or ''}".rstrip()


def _system_session(session: Any) -> tuple[Any, dict[str, Any]]:
    """Return a session with the system scope, to which Keystone shows the limits of all projects.

    If the user has no role on the system, the user's own session is returned. Its scope is a
    project.

    :returns: the session, and the keyword arguments with which its requests find Keystone's
        endpoint.
    """
    try:
        url = _v3(session.get_endpoint(service_type="identity", interface="public"))
        auth = v3.Token(url, token=session.get_token(), system_scope="all")
        system = keystone.Session(auth=auth, verify=session.verify, timeout=times.REQUEST_TIMEOUT)
        auth.get_access(system)
    except (ksa.ClientException, TypeError, AttributeError):
        return session, _KEYSTONE
    return system, {"endpoint_override": url}


def _v3(url: str) -> str:
    url = url.rstrip("/")
    return url if url.endswith("/v3") else f"{url}/v3"
