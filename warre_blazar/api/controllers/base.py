"""The base class of this package's controllers, and functions that the controllers share."""

import functools
import json
import re
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlencode

import pecan
import webob
import webob.exc
from blazar import context as blazar_context
from oslo_utils import timeutils, uuidutils
from pecan import hooks, rest

from warre_blazar import policy, texts, times
from warre_blazar.api import parsing, pecan_requests, schemas, views
from warre_blazar.api.computing_hook import ComputingHook
from warre_blazar.api.error_hook import ErrorHook, is_warres
from warre_blazar.domain.etags import NOT_SAID, Shown, Values, digests, in_json
from warre_blazar.domain.etags import tag as shown_tag
from warre_blazar.errors import exceptions
from warre_blazar.fields.declaration import Field, Resource, Use
from warre_blazar.fields.kinds import Schema, Text
from warre_blazar.openstack import people
from warre_blazar.services.booking import idempotency
from warre_blazar.services.booking.through_manager.calls import Caller

T = TypeVar("T")

MAX_ID = 64
#: What a path may have in place of an id. It is as in bodies, because it may be a flavor's name.
_ID = Text(MAX_ID)

_KEY_HEADER = "Idempotency-Key"
_KEY = re.compile(r"[!-~]{1,255}")

_MATCH_HEADER = "If-Match"
_TAG = r'(W/)?"([!#-~\x80-\xff]*)"'
_TAGS = re.compile(rf"\s*{_TAG}(?:\s*,\s*{_TAG})*\s*")


#: All controllers share the locks.
_COMPUTING = ComputingHook()

#: The query parameters that select a page of a listing.
PAGING = {"limit": parsing.positive, "page": parsing.positive, "next": parsing.next_page}
#: The query of requests that create or change something, and can be foreseen. On Warre's path, it
#: has no parameters.
DRY_RUN = {"dry_run": parsing.boolean}


class Controller(rest.RestController, hooks.HookController):
    """The base class of the controllers. Each resource of the API has a controller."""

    __hooks__ = [_COMPUTING, ErrorHook()]  # noqa: RUF012

    _lookup_child = pecan_requests.child

    @pecan.expose()
    def _route(self, args: list[str], request: Any = None) -> Any:
        """The controller's method for a request. If Pecan finds no method, this is ``_refuse``.

        ``ErrorHook`` handles only errors that a controller's method raises. So an error that occurs
        earlier is stored in the request, and ``_refuse`` raises it.
        """
        if pecan_requests.REFUSAL in request.environ:
            return self._refuse, []
        try:
            return super()._route(args, request)
        except webob.exc.HTTPException as error:
            # A controller without ``get_all`` isn't a resource. It is only a part of the paths of
            # other controllers, such as "v1" in /warre/v1/flavors.
            is_resource = hasattr(self, "get_all")
            refusal = error if is_resource else webob.exc.HTTPNotFound()
            request.environ[pecan_requests.REFUSAL] = refusal
            return self._refuse, []

    @pecan.expose("json")
    def _refuse(self, **_query: Any) -> None:
        raise pecan.request.environ[pecan_requests.REFUSAL]


def context() -> blazar_context.BlazarContext:
    """Blazar's context of the request, with the caller's user, project and roles."""
    return blazar_context.current()


def is_warres_path() -> bool:
    """Whether the request came to /v2/warre/v1, where requests and answers have Warre's form."""
    return is_warres(pecan.request)


def is_dry_run() -> bool:
    """Whether the request only asks what it would do. Its query has no other parameter."""
    known = {} if is_warres_path() else DRY_RUN
    return bool(parsing.query(pecan.request, known).get("dry_run", False))


def field_filter() -> views.FieldFilter:
    """A function that says whether the caller gets a field on the present path."""
    on_warres_path, caller = is_warres_path(), context()
    allows = functools.cache(functools.partial(policy.allows, caller))

    def sees(field: Field[Any]) -> bool:
        if on_warres_path:
            return Use.NOT_IN_WARRE not in field.use
        return field.seen_by is None or allows(field.seen_by)

    return sees


def body(schema: Schema) -> dict[str, Any]:
    """The request's body, checked against a schema. Times are converted to naive UTC.

    On Warre's path only Warre's fields are allowed.

    :raises InvalidField, Refused: see ``parsing.body``.
    """
    return parsing.body(pecan.request, schemas.in_warre(schema) if is_warres_path() else schema)


def may_list_more(asked: bool, rule: str, hidden: texts.Said) -> bool:
    """Whether a listing also contains items that only an operator may list.

    If a query asks for these items and the caller may not list them, the query is refused. On
    Warre's path the query isn't refused, but the listing leaves these items out, as in Warre.

    :param asked: whether the query asks for items that only an operator may list.
    :param rule: the policy rule that allows the caller to list them.
    :param hidden: what the caller may not list, and what to ask for instead.
    :raises Forbidden: the query asks for these items, and the caller may not list them.
    """
    allowed = asked and policy.allows(context(), rule)
    if asked and not allowed and not is_warres_path():
        raise exceptions.Forbidden(rule, hidden)
    return allowed


def listed_project(query: dict[str, Any], rule: str, hidden: str) -> str | None:
    """The project that a listing is about, or None if it is about all projects.

    The result is the caller's own project, unless the query asks for other projects and the caller
    may see them.

    :param rule: the policy rule that allows the caller to see other projects.
    :param hidden: what the rule is about, one of the nouns of ``texts.permissions.OTHER_PROJECTS``.
    :raises Forbidden: the query asks for other projects, and the caller may not see them.
    """
    own = context().project_id or ""
    everything, project_id = query.get("all_projects", False), query.get("project_id", own)
    field = "all_projects" if everything else "project_id"
    more = may_list_more(
        everything or project_id != own,
        rule,
        texts.permissions.OTHER_PROJECTS(field=field, what=hidden),
    )
    if not more:
        return own
    return query.get("project_id") if everything else project_id


def booked_project(values: dict[str, Any], rule: str, rule_for_others: str) -> str:
    """The project for which a request books.

    :param values: the request's body. ``project_id`` is the project, by default the caller's own.
    :param rule: the policy rule that allows the caller to book for the own project.
    :param rule_for_others: the policy rule that allows the caller to book for other projects. The
        caller also needs a role in such a project.
    :raises Forbidden: the caller may not book for the project.
    """
    own: str | None = context().project_id
    wanted: str | None = values.get("project_id", own)
    if not wanted:
        raise exceptions.Forbidden(rule)
    if wanted != own:
        policy.authorize(context(), rule_for_others)
        if not people.roles(context().user_id, wanted):
            project, user_id = parsing.shown(wanted), context().user_id
            raise exceptions.Forbidden(
                rule_for_others, texts.permissions.NO_ROLE(project=project, user=user_id)
            )
    return wanted


def existing_project(project_id: str) -> str:
    """The id of a project that a request is about, which may not be the caller's.

    :raises InvalidField: Keystone has no such project. The caller's own project isn't asked for.
    :raises ServiceUnavailable, ServiceRefused: Keystone doesn't tell.
    """
    if project_id != context().project_id and not people.recent_project(
        project_id, times.PROJECT_KNOWN_FOR
    ):
        raise exceptions.InvalidField("project_id", texts.expected.PROJECT_OF_KEYSTONE())
    return project_id


def caller(project_id: str | None = None) -> Caller:
    """The caller, for calls of the manager.

    :param project_id: the project to act for. None: the caller's own.
    """
    values = context().to_dict()
    if project_id is not None:
        values["project_id"] = project_id
    return Caller(context().user_id, values)


def forbid_change(rule: str) -> None:
    """Refuse a change of an item that the caller may see.

    On Warre's path this does nothing, because Warre answers that the item doesn't exist.

    :raises Forbidden:
    """
    if not is_warres_path():
        raise exceptions.Forbidden(rule, texts.permissions.ONLY_SEEN())


def made_once(
    values: dict[str, Any], find: Callable[[str], T | None], create: Callable[[str], T]
) -> T:
    """Create the item that a request asks for, but only once for each idempotency key.

    :param values: the request's body, with which the key was first sent.
    :param find: returns the item with an id, or None.
    :param create: creates the item with an id.
    :raises InvalidField, IdempotencyKeyReused: the header has no valid key, or a key of another
        request.
    """
    text = pecan.request.headers.get(_KEY_HEADER)
    if text is None:
        return create(uuidutils.generate_uuid())
    if not _KEY.fullmatch(text):
        raise exceptions.InvalidField(_KEY_HEADER, texts.expected.IDEMPOTENCY_KEY())
    caller = context()
    noun = pecan.request.path.strip("/").rpartition("/")[2]
    request = json.dumps([noun, caller.project_id, values], sort_keys=True, default=str)
    key = idempotency.key(caller.user_id, text, request, timeutils.utcnow())
    return idempotency.make(key, find, create)


def found(
    get: Callable[[str], T], missing: type[exceptions.WarreError]
) -> Callable[[str], T | None]:
    """A function that returns what ``get`` returns, or None if ``get`` raises ``missing``."""

    def find(item_id: str) -> T | None:
        try:
            return get(item_id)
        except missing:
            return None

    return find


def shown(resource: type[Resource], values: dict[str, Any]) -> Shown:
    """What the caller of a PATCH was shown of the item, by the header ``If-Match``.

    :param values: the request's body.
    :raises InvalidField: the header isn't ``*`` or a list of ETags.
    """
    text = pecan.request.headers.get(_MATCH_HEADER)
    if text is None or text.strip() == "*":
        return NOT_SAID
    if not _TAGS.fullmatch(text):
        raise exceptions.InvalidField(_MATCH_HEADER, texts.expected.ETAG())
    # A weak ETag doesn't say what was shown, so RFC 9110 lets it match nothing here.
    tags = tuple(None if weak else digests(tag) for weak, tag in re.findall(_TAG, text))
    return Shown(tags, in_json(resource, values))


def tag(item_id: str, values: Values) -> None:
    """Set the answer's ETag, which covers the fields of an item that a PATCH can change."""
    pecan.response.headers["ETag"] = f'"{shown_tag(item_id, values)}"'


def reply(status: int, document: Any) -> Any:
    """Set the answer's status, and return its document."""
    pecan.response.status = status
    return document


def empty(status: int) -> webob.Response:
    """An answer with a status and no body."""
    return webob.Response(status=status)


def item_id(path: tuple[str, ...]) -> str:
    """The id in the path of a request for one item.

    Controllers take the whole path as ``*path``. If they had a named parameter for the id, Pecan
    would also fill it from the query or the body.

    :raises webob.exc.HTTPMethodNotAllowed: the path has no id.
    :raises webob.exc.HTTPNotFound: the id can't be the id of any item, or the path continues after
        the id.
    """
    if len(path) != 1:
        raise webob.exc.HTTPMethodNotAllowed if not path else webob.exc.HTTPNotFound
    try:
        return _ID.validate(path[0])
    except ValueError:
        raise webob.exc.HTTPNotFound from None


def page_of(query: dict[str, Any]) -> tuple[int | None, int]:
    """Remove the parameters of paging from a listing's query, and return the page that they name.

    :returns: the limit and the offset of the page. A limit of None means all results.
    """
    limit = query.pop("limit", None)
    page = query.pop("page", 1)
    page = query.pop("next", page)
    return limit, (page - 1) * (limit or 0)


def listing(results: list[Any], total: int, limit: int | None, offset: int) -> dict[str, Any]:
    """The document of a page of results, with a link to the next page if there is one.

    :param total: the number of results on all pages.
    """
    document: dict[str, Any] = {"results": results, "total": total}
    if limit is not None and offset + limit < total:
        document["next"] = _next_link(offset // limit + 2)
    return document


def _next_link(page: int) -> str:
    """The URL of another page of the listing that the present request is for.

    An example is ``http://HOST/v2/flavors?limit=50&next=/?page=2``. Warre's clients expect that the
    link ends with ``/?page=N``, and add the limit and the filters to it. Other clients use the link
    as it is, so it contains the limit and the filters of the present request.
    """
    request = pecan_requests.as_sent(pecan.request)
    query = [(k, v) for k, v in request.GET.items() if k not in ("page", "next")]
    return f"{request.path_url}?{urlencode([*query, ('next', '')])}/?page={page}"
