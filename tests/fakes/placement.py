"""What our clients use of Placement: resource classes, providers, inventories."""

import re
import uuid
from typing import Any

from tests.fakes.keystone import Guarded, Keystone
from tests.fakes.service import Answer, Refusal, Request


class Placement(Guarded):
    """Custom classes, and providers by id."""

    routes = (
        ("POST", "/resource_classes", "create_class"),
        ("PUT", "/resource_classes/([^/]+)", "ensure_class"),
        ("DELETE", "/resource_classes/([^/]+)", "delete_class"),
        ("GET", "/resource_providers", "list_providers"),
        ("POST", "/resource_providers", "create_provider"),
        ("GET", "/resource_providers/([^/]+)/inventories", "show_inventories"),
        ("PUT", "/resource_providers/([^/]+)/inventories", "set_inventories"),
        ("DELETE", "/resource_providers/([^/]+)/inventories/([^/]+)", "delete_inventory"),
    )

    def __init__(self, keystone: Keystone) -> None:
        super().__init__(keystone)
        self.classes: set[str] = set()
        #: name, parent, generation, inventories by class.
        self.providers: dict[str, dict[str, Any]] = {}
        #: What servers use: amounts by (provider id, class).
        self.used: dict[tuple[str, str], int] = {}

    def refuse(self, status: int, reason: str) -> Answer:
        return Answer(status, {"errors": [{"status": status, "detail": reason}]})

    def add_provider(self, name: str, parent: str | None = None) -> str:
        """A provider, and its id."""
        provider_id = str(uuid.uuid4())
        self.providers[provider_id] = {
            "name": name,
            "parent": parent,
            "generation": 0,
            "inventories": {},
        }
        return provider_id

    def named(self, name: str) -> dict[str, Any] | None:
        """A provider by its name."""
        return next((p for p in self.providers.values() if p["name"] == name), None)

    def offered(self) -> dict[str, dict[str, int]]:
        """Totals of custom classes by the name of the provider, where there are any."""
        found = {
            p["name"]: {
                c: i["total"] for c, i in p["inventories"].items() if c.startswith("CUSTOM")
            }
            for p in self.providers.values()
        }
        return {name: totals for name, totals in found.items() if totals}

    def _provider(self, provider_id: str) -> dict[str, Any]:
        if provider_id not in self.providers:
            raise Refusal(404, f"No resource provider with uuid {provider_id} found")
        return self.providers[provider_id]

    def create_class(self, request: Request) -> Answer:
        name = request.body["name"]
        if name in self.classes:
            raise Refusal(409, f"A conflicting resource class {name} already exists.")
        self.classes.add(name)
        return Answer(201)

    def ensure_class(self, request: Request, name: str) -> Answer:
        if not re.fullmatch(r"CUSTOM_[A-Z0-9_]{1,248}", name):
            raise Refusal(400, f"{name} does not match CUSTOM_[A-Z0-9_]+")
        status = 204 if name in self.classes else 201
        self.classes.add(name)
        return Answer(status)

    def delete_class(self, request: Request, name: str) -> Answer:
        if name not in self.classes:
            raise Refusal(404, f"No such resource class: {name}.")
        if any(name in p["inventories"] for p in self.providers.values()):
            raise Refusal(409, f"Resource class {name} is in use in resource provider.")
        self.classes.remove(name)
        return Answer(204)

    def list_providers(self, request: Request) -> Answer:
        found = self.providers
        if "name" in request.query:
            found = {i: p for i, p in found.items() if p["name"] == request.query["name"]}
        if "resources" in request.query:
            cls, amount = request.query["resources"].split(":")
            if cls not in self.classes:
                raise Refusal(400, f"Invalid resource class in resources parameter: {cls}")
            found = {i: p for i, p in found.items() if self._free(i, cls) >= int(amount)}
        shown = [
            {"uuid": i, "name": p["name"], "generation": p["generation"]} for i, p in found.items()
        ]
        return Answer(200, {"resource_providers": shown})

    def _free(self, provider_id: str, cls: str) -> int:
        inventory = self.providers[provider_id]["inventories"].get(cls, {"total": 0})
        return inventory["total"] - self.used.get((provider_id, cls), 0)

    def create_provider(self, request: Request) -> Answer:
        name = request.body["name"]
        if self.named(name):
            raise Refusal(409, f"Conflicting resource provider name: {name} already exists.")
        provider_id = self.add_provider(name, request.body.get("parent_provider_uuid"))
        return Answer(200, {"uuid": provider_id, "name": name, "generation": 0})

    def show_inventories(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        return Answer(
            200,
            {
                "resource_provider_generation": provider["generation"],
                "inventories": provider["inventories"],
            },
        )

    def set_inventories(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        inventories = request.body["inventories"]
        unknown = {c for c in inventories if c.startswith("CUSTOM")} - self.classes
        if unknown:
            raise Refusal(400, f"Unknown resource class in inventory: {unknown}")
        if request.body["resource_provider_generation"] != provider["generation"]:
            raise Refusal(409, "resource provider generation conflict")
        provider["inventories"] = inventories
        provider["generation"] += 1
        return self.show_inventories(request, provider_id)

    def delete_inventory(self, request: Request, provider_id: str, cls: str) -> Answer:
        provider = self._provider(provider_id)
        if cls not in provider["inventories"]:
            raise Refusal(404, f"No inventory of class {cls} found for delete")
        if self.used.get((provider_id, cls)):
            raise Refusal(409, f"Inventory for {cls} on resource provider is in use")
        del provider["inventories"][cls]
        provider["generation"] += 1
        return Answer(204)
