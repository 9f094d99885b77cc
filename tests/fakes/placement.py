"""A fake Placement: resource classes, resource providers, inventories and allocations."""

import collections
import re
import uuid
from collections.abc import Mapping
from typing import Any

import os_resource_classes
import os_traits

from tests.fakes import candidates
from tests.fakes.keystone import Guarded, Keystone
from tests.fakes.service import Answer, Refusal, Request

_MALFORMED = (
    "The server could not comply with the request since it is either malformed or otherwise "
    "incorrect.\n\n "
)


class Placement(Guarded):
    """A Placement whose custom resource classes are a set, and whose providers are dicts by id."""

    routes = (
        ("GET", "/resource_classes", "list_classes"),
        ("POST", "/resource_classes", "create_class"),
        ("PUT", "/resource_classes/([^/]+)", "ensure_class"),
        ("GET", "/resource_classes/([^/]+)", "show_class"),
        ("DELETE", "/resource_classes/([^/]+)", "delete_class"),
        ("GET", "/allocation_candidates", "list_candidates"),
        ("GET", "/resource_providers", "list_providers"),
        ("POST", "/resource_providers", "create_provider"),
        ("DELETE", "/resource_providers/([^/]+)", "delete_provider"),
        ("GET", "/resource_providers/([^/]+)/inventories", "show_inventories"),
        ("POST", "/resource_providers/([^/]+)/inventories", "add_inventory"),
        ("PUT", "/resource_providers/([^/]+)/inventories", "set_inventories"),
        ("GET", "/resource_providers/([^/]+)/usages", "show_usages"),
        ("GET", "/resource_providers/([^/]+)/allocations", "list_allocations"),
        ("GET", "/usages", "show_project_usages"),
        ("GET", "/resource_providers/([^/]+)/traits", "show_traits"),
        ("PUT", "/resource_providers/([^/]+)/traits", "set_traits"),
        ("GET", "/traits", "list_traits"),
        ("PUT", "/traits/([^/]+)", "ensure_trait"),
        ("DELETE", "/traits/([^/]+)", "delete_trait"),
        ("DELETE", "/resource_providers/([^/]+)/inventories/([^/]+)", "delete_inventory"),
    )

    def __init__(self, keystone: Keystone) -> None:
        super().__init__(keystone)
        self.classes: set[str] = set()
        #: Custom traits that no provider has.
        self.traits: set[str] = set()
        #: How many of the next new classes get an id that another request has just taken.
        self.colliding_ids = 0
        #: Providers with "name", "parent", "generation", "inventories" (by class) and "traits".
        self.providers: dict[str, dict[str, Any]] = {}
        #: By the ids of consumers and providers, the amounts that are taken by class.
        self.allocations: dict[str, dict[str, dict[str, int]]] = {}
        #: The projects of consumers. Those of whom nothing is known belong to none.
        self.projects: dict[str, str] = {}

    def refuse(self, status: int, reason: str) -> Answer:
        return Answer(status, {"errors": [{"status": status, "detail": reason}]})

    def add_provider(
        self, name: str, parent: str | None = None, *traits: str, **totals: int
    ) -> str:
        """Add a provider with traits and, by class, totals, and return its id."""
        provider_id = str(uuid.uuid4())
        self.providers[provider_id] = {
            "name": name,
            "parent": parent,
            "generation": 0,
            "inventories": {cls: {"total": total} for cls, total in totals.items()},
            "traits": list(traits),
        }
        return provider_id

    def change(self, name: str, *traits: str, **totals: int) -> None:
        """Give a provider other traits and inventories, as nova-compute does."""
        with self.lock:
            provider = self.named(name)
            assert provider is not None
            provider["traits"] = list(traits)
            provider["inventories"] = {cls: {"total": total} for cls, total in totals.items()}
            provider["generation"] += 1

    def remove_provider(self, name: str) -> None:
        """Remove a provider, as nova-compute does when a device is gone."""
        with self.lock:
            (provider_id,) = (i for i, p in self.providers.items() if p["name"] == name)
            if any(p["parent"] == provider_id for p in self.providers.values()):
                raise AssertionError(f"Placement keeps {name}, because it has children")
            del self.providers[provider_id]

    def remove_tree(self, name: str) -> None:
        """Remove a host's provider with all below it, as Nova does with a deleted service."""
        with self.lock:
            (root,) = (i for i, p in self.providers.items() if p["name"] == name)
            for provider_id in [i for i in self.providers if self._root(i) == root]:
                del self.providers[provider_id]

    def named(self, name: str) -> dict[str, Any] | None:
        """The provider with a name, None if there is none."""
        return next((p for p in self.providers.values() if p["name"] == name), None)

    def offered(self) -> dict[str, dict[str, int]]:
        """The totals of custom classes by provider name. Providers without any are left out."""
        totals_of = {
            p["name"]: {
                c: i["total"] for c, i in p["inventories"].items() if c.startswith("CUSTOM")
            }
            for p in self.providers.values()
        }
        return {name: totals for name, totals in totals_of.items() if totals}

    def _provider(self, provider_id: str) -> dict[str, Any]:
        if provider_id not in self.providers:
            raise Refusal(404, f"No resource provider with uuid {provider_id} found")
        return self.providers[provider_id]

    def list_classes(self, request: Request) -> Answer:
        shown = [{"name": name} for name in ("VCPU", "MEMORY_MB", "DISK_GB", *sorted(self.classes))]
        return Answer(200, {"resource_classes": shown})

    def create_class(self, request: Request) -> Answer:
        name = request.body["name"]
        collides = self.colliding_ids > 0
        self.colliding_ids -= collides
        if collides or name in self.classes:
            raise Refusal(409, f"A conflicting resource class {name} already exists.")
        self.classes.add(name)
        return Answer(201)

    def ensure_class(self, request: Request, name: str) -> Answer:
        if not re.fullmatch(r"CUSTOM_[A-Z0-9_]{1,248}", name):
            raise Refusal(400, f"{name} does not match CUSTOM_[A-Z0-9_]+")
        if self.colliding_ids:
            # The real one takes a collision of ids for a class that exists already.
            self.colliding_ids -= 1
            return Answer(204)
        status = 204 if name in self.classes else 201
        self.classes.add(name)
        return Answer(status)

    def show_class(self, request: Request, name: str) -> Answer:
        if name not in self.classes:
            raise Refusal(404, f"No such resource class: {name}.")
        return Answer(200, {"name": name})

    def delete_class(self, request: Request, name: str) -> Answer:
        if name not in self.classes:
            raise Refusal(404, f"No such resource class: {name}.")
        if any(name in p["inventories"] for p in self.providers.values()):
            raise Refusal(409, f"Resource class {name} is in use in resource provider.")
        self.classes.remove(name)
        return Answer(204)

    def list_providers(self, request: Request) -> Answer:
        listed = self.providers
        if "name" in request.query:
            listed = {i: p for i, p in listed.items() if p["name"] == request.query["name"]}
        if "resources" in request.query:
            cls, amount = request.query["resources"].split(":")
            if cls not in self.classes:
                raise Refusal(400, f"Invalid resource class in resources parameter: {cls}")
            listed = {i: p for i, p in listed.items() if self._free(i, cls) >= int(amount)}
        if "required" in request.query:
            trait = request.query["required"]
            self._check_traits({trait})
            listed = {i: p for i, p in listed.items() if trait in p["traits"]}
        if "in_tree" in request.query:
            root = self._root(request.query["in_tree"])
            listed = {i: p for i, p in listed.items() if root and self._root(i) == root}
        shown = [
            {
                "uuid": i,
                "name": p["name"],
                "generation": p["generation"],
                "parent_provider_uuid": p["parent"],
                "root_provider_uuid": self._root(i),
            }
            for i, p in listed.items()
        ]
        return Answer(200, {"resource_providers": shown})

    def _root(self, provider_id: str) -> str | None:
        """The root of a provider's tree; None if there is no such provider."""
        provider = self.providers.get(provider_id)
        if provider is None:
            return None
        return self._root(provider["parent"]) if provider["parent"] else provider_id

    def _free(self, provider_id: str, cls: str) -> int:
        capacity = candidates.capacity(self.providers[provider_id]["inventories"].get(cls))
        return capacity - self._used(provider_id, cls)

    def _used(self, provider_id: str, cls: str) -> int:
        return sum(a.get(provider_id, {}).get(cls, 0) for a in self.allocations.values())

    def create_provider(self, request: Request) -> Answer:
        name = request.body["name"]
        if self.named(name):
            raise Refusal(409, f"Conflicting resource provider name: {name} already exists.")
        provider_id = self.add_provider(name, request.body.get("parent_provider_uuid"))
        return Answer(200, {"uuid": provider_id, "name": name, "generation": 0})

    def delete_provider(self, request: Request, provider_id: str) -> Answer:
        self._provider(provider_id)
        if any(p["parent"] == provider_id for p in self.providers.values()):
            raise Refusal(409, "Unable to delete parent resource provider")
        del self.providers[provider_id]
        return Answer(204)

    def show_inventories(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        return Answer(
            200,
            {
                "resource_provider_generation": provider["generation"],
                "inventories": {
                    c: candidates.complete(i) for c, i in provider["inventories"].items()
                },
            },
        )

    def show_traits(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        shown = {
            "resource_provider_generation": provider["generation"],
            "traits": sorted(provider["traits"]),
        }
        return Answer(200, shown)

    def set_traits(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        if request.body["resource_provider_generation"] != provider["generation"]:
            raise Refusal(409, "Resource provider's generation already changed.")
        self._check_traits(set(request.body["traits"]))
        # The real one keeps the traits that no provider has any more.
        self.traits |= {t for t in provider["traits"] if t.startswith("CUSTOM_")}
        provider["traits"] = list(request.body["traits"])
        provider["generation"] += 1
        return self.show_traits(request, provider_id)

    def list_traits(self, request: Request) -> Answer:
        prefix = request.query["name"].removeprefix("startswith:")
        known = self.traits.union(*(p["traits"] for p in self.providers.values()))
        return Answer(200, {"traits": sorted(t for t in known if t.startswith(prefix))})

    def ensure_trait(self, request: Request, name: str) -> Answer:
        if not re.fullmatch(r"CUSTOM_[A-Z0-9_]{1,248}", name):
            raise Refusal(400, f"{name} does not match CUSTOM_[A-Z0-9_]+")
        known = any(name in p["traits"] for p in self.providers.values()) or name in self.traits
        self.traits.add(name)
        return Answer(204 if known else 201)

    def delete_trait(self, request: Request, name: str) -> Answer:
        if any(name in p["traits"] for p in self.providers.values()):
            raise Refusal(409, f"The trait {name} is in use by a resource provider.")
        if name not in self.traits:
            raise Refusal(404, f"No such trait {name}.")
        self.traits.remove(name)
        return Answer(204)

    def list_candidates(self, request: Request) -> Answer:
        wanted = candidates.Wanted.of(request.query)
        self._check_traits(wanted.traits)
        known = self.classes.union(
            os_resource_classes.STANDARDS, *(p["inventories"] for p in self.providers.values())
        )
        if unknown := wanted.classes - known:
            raise Refusal(
                400, f"{_MALFORMED}Invalid resource class in resources parameter: {unknown}  "
            )
        trees = [self._tree(i) for i, p in self.providers.items() if p["parent"] is None]
        return Answer(200, candidates.answer(wanted, trees))

    def _tree(self, root: str) -> candidates.Tree:
        providers = {i: p for i, p in self.providers.items() if self._root(i) == root}
        return candidates.Tree(root, providers, self._used)

    def _check_traits(self, wanted: set[str]) -> None:
        known = self.traits.union(
            os_traits.get_traits(), *(p["traits"] for p in self.providers.values())
        )
        if unknown := wanted - known:
            raise Refusal(400, f"{_MALFORMED}No such trait(s): {', '.join(sorted(unknown))}.  ")

    def show_usages(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        usages = {c: self._used(provider_id, c) for c in provider["inventories"]}
        shown = {"resource_provider_generation": provider["generation"], "usages": usages}
        return Answer(200, shown)

    def list_allocations(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        shown = {
            consumer: {"resources": held[provider_id], "consumer_generation": 1}
            for consumer, held in self.allocations.items()
            if held.get(provider_id)
        }
        generation = provider["generation"]
        return Answer(200, {"allocations": shown, "resource_provider_generation": generation})

    def show_project_usages(self, request: Request) -> Answer:
        """What all consumers of a project take together."""
        sums: collections.Counter[str] = collections.Counter()
        for consumer, held in self.allocations.items():
            if self.projects.get(consumer) == request.query["project_id"]:
                for amounts in held.values():
                    sums.update(amounts)
        return Answer(200, {"usages": dict(sums)})

    def use(self, name: str, cls: str, amount: int) -> None:
        """Let servers take ``amount`` more of a class on a provider, each of them 1.

        :param name: the provider's name.
        :raises Refusal: less than ``amount`` is free.
        """
        with self.lock:
            (provider_id,) = (i for i, p in self.providers.items() if p["name"] == name)
            if self._free(provider_id, cls) < amount:
                raise Refusal(409, f"Unable to allocate inventory of {cls}")
            for _ in range(amount):
                self.allocations[str(uuid.uuid4())] = {provider_id: {cls: 1}}
            self.providers[provider_id]["generation"] += 1

    def allocate(
        self, consumer: str, project_id: str, wanted: Mapping[str, Mapping[str, int]]
    ) -> None:
        """Let a consumer take amounts by class of providers, as Nova's scheduler does.

        :param wanted: by the provider's name.
        :raises Refusal: there isn't enough.
        """
        with self.lock:
            held = {}
            for name, amounts in wanted.items():
                (provider_id,) = (i for i, p in self.providers.items() if p["name"] == name)
                if any(self._free(provider_id, cls) < n for cls, n in amounts.items()):
                    raise Refusal(409, f"Unable to allocate inventory of {name}")
                held[provider_id] = dict(amounts)
            self._write(consumer, project_id, held)

    def hand_over(self, consumer: str, to: str) -> None:
        """Let another consumer hold what a consumer holds, as Nova does when it moves a server."""
        with self.lock:
            if consumer in self.allocations:
                self._write(to, self.projects.get(consumer, ""), self.allocations.pop(consumer))

    def free(self, consumer: str) -> None:
        """Remove what a consumer holds."""
        with self.lock:
            self._write(consumer, "", {})

    def _write(self, consumer: str, project_id: str, held: dict[str, dict[str, int]]) -> None:
        for provider_id in {*self.allocations.pop(consumer, {}), *held} & self.providers.keys():
            self.providers[provider_id]["generation"] += 1
        if held:
            self.allocations[consumer] = held
            self.projects[consumer] = project_id

    def add_inventory(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        inventory = dict(request.body)
        cls = inventory.pop("resource_class")
        if cls.startswith("CUSTOM") and cls not in self.classes:
            raise Refusal(400, f"Unknown resource class in inventory: {cls}")
        if cls in provider["inventories"]:
            raise Refusal(409, f"Inventory for {cls} already exists")
        provider["inventories"][cls] = inventory
        provider["generation"] += 1
        return Answer(201, {"resource_provider_generation": provider["generation"], **inventory})

    def set_inventories(self, request: Request, provider_id: str) -> Answer:
        provider = self._provider(provider_id)
        inventories = request.body["inventories"]
        if request.body["resource_provider_generation"] != provider["generation"]:
            raise Refusal(409, "resource provider generation conflict")
        unknown = {c for c in inventories if c.startswith("CUSTOM")} - self.classes
        if unknown:
            raise Refusal(400, f"Unknown resource class in inventory: {unknown}")
        gone = provider["inventories"].keys() - inventories.keys()
        if any(self._used(provider_id, cls) for cls in gone):
            raise Refusal(409, f"Inventory for {gone} on resource provider is in use")
        provider["inventories"] = inventories
        provider["generation"] += 1
        return self.show_inventories(request, provider_id)

    def delete_inventory(self, request: Request, provider_id: str, cls: str) -> Answer:
        provider = self._provider(provider_id)
        if cls not in provider["inventories"]:
            raise Refusal(404, f"No inventory of class {cls} found for delete")
        if self._used(provider_id, cls):
            raise Refusal(409, f"Inventory for {cls} on resource provider is in use")
        del provider["inventories"][cls]
        provider["generation"] += 1
        return Answer(204)
