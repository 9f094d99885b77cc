"""The controller of /flavorprojects: the access of projects to private flavors."""

from typing import Any

from warre_blazar.api import views
from warre_blazar.api.controllers import base, declared
from warre_blazar.domain.flavors.flavor import ProjectAccess
from warre_blazar.errors import exceptions
from warre_blazar.fields.others import AccessFields
from warre_blazar.services.flavors import flavors


class FlavorProjectsController(declared.ItemsController):
    """Access: which projects may book which private flavors."""

    resource, missing = AccessFields, exceptions.AccessNotFound

    def page(self, query: dict[str, Any], limit: int | None, offset: int) -> Any:
        return flavors.accesses(query, limit, offset)

    def document(self, item: ProjectAccess, sees: views.FieldFilter) -> dict[str, Any]:
        return views.document(AccessFields, {**vars(item), "flavor": item.flavor_id}, sees)

    def one(self, item_id: str) -> ProjectAccess:
        return flavors.get_access(item_id)

    def create(self, item_id: str, prepared: dict[str, Any]) -> ProjectAccess:
        project_id = base.existing_project(prepared["project_id"])
        return flavors.grant_access(prepared["flavor_id"], project_id, item_id)

    def remove(self, item: ProjectAccess) -> None:
        flavors.revoke_access(item.id)
