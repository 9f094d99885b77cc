"""Finds images of servers in Glance, gives them to projects, and deletes surplus ones.

Every function can be repeated safely. Every function raises ServiceUnavailable if Glance doesn't
answer, and ServiceRefused if Glance refuses a request.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from keystoneauth1 import adapter
from oslo_config import cfg

from warre_blazar import texts
from warre_blazar.errors import exceptions
from warre_blazar.openstack import keystone

cfg.CONF.import_group("nova", "blazar.utils.openstack.nova")

_SERVICE = "Glance"
_PATCH = "application/openstack-images-v2.1-json-patch"
#: Images with another status have no data, and never get any.
_ALIVE = ("queued", "saving", "importing", "uploading", "active", "deactivated")


@dataclasses.dataclass(frozen=True)
class Image:
    """An image."""

    id: str
    #: The id of the project that the image belongs to.
    owner: str | None
    #: Whether the image has all its data.
    is_complete: bool


def find(properties: Mapping[str, str]) -> list[str]:
    """The ids of the images with these properties that belong to Blazar's service user.

    Users can give their own images the same properties, so the images of other projects are left
    out.
    """
    with keystone.speaking_of("Keystone"):
        owner = keystone.service_session().get_project_id()
    images = _request("GET", "/images", params={**properties, "owner": owner}).json()["images"]
    # An older Glance may ignore what it doesn't know in a query.
    same = {**properties, "owner": owner}
    return [i["id"] for i in images if same.items() <= i.items() and i["status"] in _ALIVE]


def get(image_id: str) -> Image | None:
    """An image. None: it is gone, or never gets its data."""
    answer = _request("GET", f"/images/{image_id}", fine=(404,))
    if answer.status_code == 404:
        return None
    image = answer.json()
    if image["status"] not in _ALIVE:
        return None
    return Image(image_id, image.get("owner"), image["status"] == "active")


def give(image_id: str, project_id: str) -> None:
    """Make an image belong to a project, for which alone it is."""
    changes = [
        {"op": "replace", "path": "/owner", "value": project_id},
        {"op": "replace", "path": "/visibility", "value": "private"},
    ]
    _request("PATCH", f"/images/{image_id}", data=json.dumps(changes), content_type=_PATCH)


def delete(image_id: str) -> None:
    """Delete an image."""
    _request("DELETE", f"/images/{image_id}", fine=(404,))


def _request(
    method: str,
    path: str,
    *,
    fine: tuple[int, ...] = (),
    content_type: str | None = None,
    **kwargs: Any,
) -> Any:
    """Send a request to Glance and return the response.

    :param fine: error statuses (400 and above) that are returned instead of raised.
    """
    conf = cfg.CONF
    client = adapter.Adapter(
        keystone.service_session(),
        service_type="image",
        # Blazar has no options for Glance.
        interface=conf.nova.endpoint_type,
        region_name=conf.os_region_name,
        connect_retries=1,
    )
    headers = {"Accept": "application/json"}
    if content_type:
        headers["Content-Type"] = content_type
    with keystone.speaking_of(_SERVICE):
        # The call asks for no version of the API, so keystoneauth sends no request to Glance.
        endpoint = client.get_endpoint()
        if not endpoint:
            raise exceptions.ServiceUnavailable(_SERVICE, texts.services.NOT_IN_CATALOG())
        root = endpoint.rstrip("/").removesuffix("/v2")
        answer = client.request(
            f"{root}/v2{path}", method, raise_exc=False, headers=headers, **kwargs
        )
    if answer.status_code < 400 or answer.status_code in fine:
        return answer
    said = f"{answer.status_code} {answer.text[:200]}"
    if answer.status_code >= 500:
        raise keystone.failure(_SERVICE, answer.status_code, said)
    raise exceptions.ServiceRefused(_SERVICE, texts.services.REFUSAL(said=said))
