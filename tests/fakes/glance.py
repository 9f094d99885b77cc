"""A fake Glance, with the images that Nova makes of servers."""

import uuid
from typing import Any

from tests.fakes.keystone import Guarded, Keystone
from tests.fakes.service import Answer, Refusal, Request

#: The project of Blazar's service user.
SERVICE_PROJECT = "project-service"


class Glance(Guarded):
    """A Glance whose ``images`` are documents by id."""

    routes = (
        ("GET", "/v2/images", "list_images"),
        ("GET", "/v2/images/([^/]+)", "show_image"),
        ("PATCH", "/v2/images/([^/]+)", "change_image"),
        ("DELETE", "/v2/images/([^/]+)", "delete_image"),
    )

    def __init__(self, keystone: Keystone) -> None:
        super().__init__(keystone)
        self.images: dict[str, dict[str, Any]] = {}
        #: Whether only operators of Glance may change the owner of an image.
        self.owners_are_fixed = False

    def add(self, **values: Any) -> str:
        """Add an image without data, as Nova does for a snapshot, and return its id."""
        image_id = str(uuid.uuid4())
        usual = {"status": "queued", "owner": SERVICE_PROJECT, "visibility": "shared", "tags": []}
        self.images[image_id] = {"id": image_id, **usual, **values}
        return image_id

    def finish(self) -> None:
        """Let all images get their data."""
        for image in self.images.values():
            image["status"] = "active"

    def forget_server(self, server_id: str) -> None:
        """Remove the incomplete images of a server, as Nova does when the server is gone."""
        for image in list(self.images.values()):
            if image.get("instance_uuid") == server_id and image["status"] != "active":
                del self.images[image["id"]]

    def _image(self, image_id: str) -> dict[str, Any]:
        if image_id not in self.images:
            raise Refusal(404, f"No image found with ID {image_id}")
        return self.images[image_id]

    def list_images(self, request: Request) -> Answer:
        found = [i for i in self.images.values() if request.query.items() <= i.items()]
        return Answer(200, {"images": found})

    def show_image(self, request: Request, image_id: str) -> Answer:
        return Answer(200, self._image(image_id))

    def delete_image(self, request: Request, image_id: str) -> Answer:
        self._image(image_id)
        del self.images[image_id]
        return Answer(204)

    def change_image(self, request: Request, image_id: str) -> Answer:
        if request.headers["content-type"] != "application/openstack-images-v2.1-json-patch":
            raise Refusal(415, "Unsupported Content-Type")
        image = self._image(image_id)
        for change in request.body:
            name = change["path"].removeprefix("/")
            if change["op"] != "replace" or name not in image:
                raise Refusal(400, f"Unable to apply {change}")
            if name == "owner" and self.owners_are_fixed:
                raise Refusal(403, "Owner can't be updated by non admin.")
            image[name] = change["value"]
        return Answer(200, image)
