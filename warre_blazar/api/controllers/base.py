"""What our controllers share."""

from typing import Any
from urllib.parse import urlencode

import pecan
import webob
import webob.exc
from blazar.context import BlazarContext
from oslo_middleware import http_proxy_to_wsgi
from pecan import hooks, rest

from warre_blazar.api import parsing, preparing
from warre_blazar.api.hooks import ErrorHook
from warre_blazar.plugins import errors

# v1 in this process looks a manager's exception up by its name.
errors.expose_to_v1()

MAX_ID = 64

#: The query's parameters for pages of a listing.
PAGING = {"limit": parsing.positive, "page": parsing.positive, "next": parsing.next_page}


class Controller(rest.RestController, hooks.HookController):
    """A noun of the API. Blazar reads ``name`` and ``extra_routes``."""

    __hooks__ = [ErrorHook()]  # noqa: RUF012
    name = ""
    extra_routes: dict[str, str] = {}  # noqa: RUF012

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        """Let what Pecan refuses while it looks for a method go through our hook too."""
        if preparing.REFUSAL in request.environ:
            return self._refuse, []
        try:
            return super()._route(args, request)
        except webob.exc.HTTPException as error:
            # Without methods of its own it is only a part of others' paths.
            known = hasattr(self, "get_all")
            request.environ[preparing.REFUSAL] = error if known else webob.exc.HTTPNotFound()
            return self._refuse, []

    @pecan.expose("json")
    def _refuse(self, **_query: Any) -> None:
        raise pecan.request.environ[preparing.REFUSAL]


preparing.install(Controller)


def context() -> BlazarContext:
    """The caller's, as Keystone's middleware found it."""
    return pecan.request.context


def reply(status: int, document: Any) -> Any:
    """Answer with a status."""
    pecan.response.status = status
    return document


def empty(status: int) -> webob.Response:
    """Answer with a status and nothing else."""
    return webob.Response(status=status)


def item(path: tuple[str, ...]) -> str:
    """The id in the path of a thing; Pecan may not take it from the query or the body."""
    if len(path) != 1:
        raise webob.exc.HTTPMethodNotAllowed if not path else webob.exc.HTTPNotFound
    if len(path[0]) > MAX_ID or not path[0].isprintable():
        raise webob.exc.HTTPNotFound
    return path[0]


def page_of(query: dict[str, Any]) -> tuple[int | None, int]:
    """(limit, offset) of a listing's query, taken out of it; no limit: everything."""
    limit = query.pop("limit", None)
    page = query.pop("page", 1)
    page = query.pop("next", page)
    return limit, (page - 1) * (limit or 0)


def listing(results: list[Any], total: int, limit: int | None, offset: int) -> dict[str, Any]:
    """A page of results, with a link to the next one if there is one."""
    document: dict[str, Any] = {"results": results, "total": total}
    if limit is not None and offset + limit < total:
        document["next"] = _next_link(offset // limit + 2)
    return document


def _next_link(page: int) -> str:
    """The present request's, for another page, as the client would have to send it.

    Warre's clients know the link by its ending ``/?page=N``, and send limit and filters along
    with it; here the link has these in it, so it works by itself too.
    """
    request = pecan.request.copy_get()
    # What a proxy tells of itself changes only this link, which goes back to who sent it.
    http_proxy_to_wsgi.HTTPProxyToWSGI(
        None, {"enable_proxy_headers_parsing": True}
    ).process_request(request)
    query = [(k, v) for k, v in request.GET.items() if k not in ("page", "next")]
    return f"{request.path_url}?{urlencode([*query, ('next', '')])}/?page={page}"
