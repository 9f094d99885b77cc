"""The controller of /refusals: requests that a rule has refused."""

from typing import Any

from warre_blazar import texts
from warre_blazar.api import views
from warre_blazar.api.controllers import base, declared
from warre_blazar.db.records.refusals import RefusalFilter
from warre_blazar.domain.records.refusals import RefusedRequest
from warre_blazar.errors import exceptions
from warre_blazar.fields.usage import RefusalFields
from warre_blazar.services.records import refusals


class RefusalsController(declared.ListController):
    """Refusals: requests to book or to change a reservation that a rule has refused."""

    resource = RefusalFields

    def page(self, query: dict[str, Any], limit: int | None, offset: int) -> Any:
        after, before = query.get("from"), query.get("to")
        if after is not None and before is not None and before <= after:
            raise exceptions.InvalidField("to", texts.expected.AFTER(other="from"))
        wanted = RefusalFilter(
            project_id=base.listed_project(
                query, RefusalFields.rule("list:all"), texts.permissions.LIST_REFUSALS
            ),
            user_id=query.get("user_id"),
            flavor_id=query.get("flavor_id"),
            code=query.get("code"),
            after=after,
            before=before,
        )
        return refusals.listing(wanted, limit, offset)

    def document(self, item: RefusedRequest, sees: views.FieldFilter) -> dict[str, Any]:
        return views.refusal(item, sees)
