"""The controller of /shares: which projects may boot on the places of others' reservations."""

from typing import Any

from warre_blazar import policy, texts
from warre_blazar.api.controllers import base, declared, reservations
from warre_blazar.domain.running.backing import ReservationShare
from warre_blazar.errors import exceptions
from warre_blazar.fields.shares import ShareFields
from warre_blazar.services.running import shares


class SharesController(declared.ItemsController):
    """Shares: the rights of projects to boot servers on the places of a reservation."""

    resource, missing = ShareFields, exceptions.ShareNotFound

    def page(self, query: dict[str, Any], limit: int | None, offset: int) -> Any:
        rule = ShareFields.rule("list:all")
        project_id = base.listed_project(query, rule, texts.permissions.LIST_SHARES)
        filters = {name: query[name] for name in ("reservation_id",) if name in query}
        return shares.listing(project_id, filters, limit, offset)

    def one(self, item_id: str) -> ReservationShare:
        return shares.get(item_id)

    def owner(self, item: ReservationShare) -> dict[str, Any]:
        return {**super().owner(item), "project_id": item.owner_id}

    def allowed(self, action: str, item_id: str) -> ReservationShare:
        item, context = self.one(item_id), base.context()
        if item.project_id == context.project_id:
            sees = policy.allows(context, ShareFields.rule("get"))
            if sees and action == "get":
                return item
            rule = ShareFields.rule(action)
            if sees and not policy.allows(context, rule, self.owner(item)):
                base.forbid_change(rule)
        return super().allowed(action, item_id)

    def prepared(self, values: dict[str, Any]) -> dict[str, Any]:
        reservations.find(ShareFields.rule("create"), values["reservation_id"])
        base.existing_project(values["project_id"])
        return values

    def create(self, item_id: str, prepared: dict[str, Any]) -> ReservationShare:
        return shares.create(item_id, prepared["reservation_id"], prepared["project_id"])

    def remove(self, item: ReservationShare) -> None:
        shares.delete(item)
