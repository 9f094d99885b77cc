"""The controllers of resources whose actions are declared in ``warre_blazar.fields``.

A subclass says which resource it serves, and which functions of the services find, make and remove
the items. Everything else follows from the declaration.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pecan

from warre_blazar import policy
from warre_blazar.api import parsing, schemas, views
from warre_blazar.api.controllers import base
from warre_blazar.fields.declaration import Resource
from warre_blazar.fields.kinds import Schema

#: The functions that convert the values of filters.
_FILTERS: Mapping[str, Callable[[str, str], Any]] = {
    "all_projects": parsing.boolean,
    "project_id": parsing.project_id,
    "user_id": parsing.word,
    "flavor_id": parsing.word,
    "reservation_id": parsing.word,
    "status": parsing.wait_states,
    "code": parsing.refusal_code,
    "from": parsing.moment,
    "to": parsing.moment,
}


def list_query(resource: type[Resource]) -> dict[str, Callable[[str, str], Any]]:
    """The query of a listing: the filters that the resource declares, and the page."""
    return {**{name: _FILTERS[name] for name in resource.filters}, **base.PAGING}


class ListController(base.Controller):
    """Lists the items of a resource."""

    resource: ClassVar[type[Resource]]

    @pecan.expose("json")
    def get_all(self, **_query: Any) -> Any:
        policy.authorize(base.context(), self.resource.rule("list"))
        query = parsing.query(pecan.request, list_query(self.resource))
        limit, offset = base.page_of(query)
        page, total = self.page(query, limit, offset)
        sees = base.field_filter()
        return base.listing([self.document(each, sees) for each in page], total, limit, offset)

    def page(
        self, query: dict[str, Any], limit: int | None, offset: int
    ) -> tuple[Sequence[Any], int]:
        """A page of the items that a query asks for, and the number of items on all pages."""
        raise NotImplementedError

    def document(self, item: Any, sees: views.FieldFilter) -> dict[str, Any]:
        """The document of an item."""
        return views.document(self.resource, vars(item), sees)


class ItemsController(ListController):
    """Lists, shows, creates and deletes the items of a resource."""

    #: The schema of a body that creates an item.
    body: ClassVar[Schema]
    #: The class of the error if there is no item with an id. It takes the id.
    missing: ClassVar[Any]

    def one(self, item_id: str) -> Any:
        """The item with an id.

        :raises WarreError: ``missing``.
        """
        raise NotImplementedError

    def owner(self, item: Any) -> dict[str, Any]:
        """Whose an item is, for the policy."""
        return {"project_id": item.project_id, "user_id": base.context().user_id}

    def prepared(self, values: dict[str, Any]) -> Any:
        """What ``create`` and ``foresee`` need to know of a valid body.

        :raises WarreError: the caller may not create it.
        """
        return values

    def create(self, item_id: str, prepared: Any) -> Any:
        """Create an item, and return it."""
        raise NotImplementedError

    def foresee(self, prepared: Any) -> Any:
        """The item that ``create`` would create."""
        raise NotImplementedError

    def remove(self, item: Any) -> None:
        """Delete an item."""
        raise NotImplementedError

    def allowed(self, action: str, item_id: str) -> Any:
        """The item with an id, on which the caller may act.

        :raises WarreError: ``missing``: there is no such item, or the caller may not see it.
        :raises Forbidden: the caller may see the item, but the policy doesn't allow the action.
        """
        item = self.one(item_id)
        context, target = base.context(), self.owner(item)
        if not policy.allows(context, self.resource.rule(action), target):
            if policy.allows(context, self.resource.rule("get"), target):
                base.forbid_change(self.resource.rule(action))
            raise self.missing(item_id)
        return item

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.body = schemas.creation(cls.resource)

    @pecan.expose("json")
    def get_one(self, *path: str, **_query: Any) -> Any:
        item_id = base.item_id(path)
        parsing.query(pecan.request, {})
        return self.document(self.allowed("get", item_id), base.field_filter())

    @pecan.expose("json")
    def post(self, **_query: Any) -> Any:
        action, sees = self.resource.actions["create"], base.field_filter()
        policy.authorize(base.context(), self.resource.rule("create"))
        is_dry_run = action.dry_run and base.is_dry_run()
        if not action.dry_run:
            parsing.query(pecan.request, {})
        values = base.body(self.body)
        prepared = self.prepared(values)
        if is_dry_run:
            return self.document(self.foresee(prepared), sees)
        made = base.made_once(
            values,
            base.found(self.one, self.missing),
            lambda item_id: self.create(item_id, prepared),
        )
        return base.reply(action.status, self.document(made, sees))

    @pecan.expose("json")
    def delete(self, *path: str, **_query: Any) -> Any:
        item_id = base.item_id(path)
        parsing.query(pecan.request, {})
        self.remove(self.allowed("delete", item_id))
        return base.empty(204)
