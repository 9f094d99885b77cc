"""Random requests to every path of the API, with every method: valid, wrong and odd ones.

A request depends only on the seed, on its number and on the ids of what exists.
"""

import dataclasses
import functools
import random
import re
import urllib.parse
from collections.abc import Sequence
from typing import Any

from tests.unit.wsgi import odd_bodies
from tests.unit.wsgi.odd_bodies import Known
from warre_blazar.api import openapi
from warre_blazar.api.operations import OPERATIONS

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "FOO")
#: The senders of requests. None sends no token, and "stranger" a token that Keystone doesn't know.
SENDERS = ("alpha", "beta", "admin", "reader", "unscoped", "stranger", None)
_WEIGHTS = (8, 8, 8, 2, 1, 1, 1)
#: Paths of Blazar that only list, or that lead to other paths.
ROOTS = ("", "/", "/versions", "/v1", "/v1/", "/v2", "/v2/", "/v2/warre", "/v2/warre/v1", "*")
#: The paths of Blazar's own v2 controllers.
BLAZARS_V2 = ("/v2/leases", "/v2/leases/{lease_id}", "/v2/os-hosts", "/v2/os-hosts/{host_id}")

#: What changes something over Blazar's own controllers.
_WRITES = (
    ("POST", "/v1/leases"),
    ("PUT", "/v1/leases/{lease_id}"),
    ("DELETE", "/v1/leases/{lease_id}"),
    ("DELETE", "/v2/leases/{lease_id}"),
    ("POST", "/v1/os-hosts"),
    ("PUT", "/v1/os-hosts/{host_id}"),
    ("DELETE", "/v1/os-hosts/{host_id}"),
    ("DELETE", "/v2/os-hosts/{host_id}"),
    ("PATCH", "/v1/os-hosts/properties/{property_name}"),
)

#: Segments of paths that lead to nothing, or that no client should send. They are percent-encoded.
_SEGMENTS = (
    *("name", "get_all", "post", "_route", "_lookup", "__class__", "__doc__", "__dict__", "new"),
    *("__init__", "_custom_actions", "extension_manager", "versions", "delete", "edit", "mro"),
    *("0", "-1", "1", "1.5", "9" * 30, "None", "null", "true", "undefined", "x", "*", "..", "."),
    *("%00", "%ff%fe", "%F0%9F%98%80", "%C3%A9", "a%2Fb", "%2e%2e", "%25", "%0d%0aSet-Cookie:a",
      "%ed%a0%80", "%20", "a b", "%", "%zz", ";x=1", "x;y", "'", '"', "<script>", "{x}", "%7B%7D"),
    *("x" * 64, "x" * 65, "x" * 5000, "%41" * 300, "00000000-0000-0000-0000-000000000000"),
    *("freeslots", "detail", "allocation", "allocations", "properties", "leases", "plugins"),
    *("x.json", ".json", "leases.json", "x.xml", "x.html", "index.html", "", "' OR 1=1 --"),
)  # fmt: skip
_QUERY_NAMES = (
    *sorted({name for operation in OPERATIONS for name in operation.query}),
    *("_method", "lease_id", "reservation_id", "private", "all", "project_id", "user_id", "id"),
    *("x", "self", "__class__", "", "q", "q.field", "fields", "marker", "%ff", "a[]", "request"),
)
_QUERY_VALUES = (
    *("", "true", "false", "1", "0", "-1", "2", "9" * 30, "x", "None", "null", "%00", "%ff", "+"),
    *("2100-01-03", "2100-01-03T09:00:00%2B00:00", "9999-12-31", "0001-01-01", "now", "capacity"),
    *("ALLOCATED,ACTIVE", "start:desc", "created_at", "1.5", "nan", "inf", "1e400", "%F0%9F%98%80"),
    *("POST", "DELETE", "x" * 300, "x" * 9000, "'", "%ed%a0%80", "/?page=2", "__class__", "[]"),
)
_QUERIES = (
    "&&",
    "=",
    "%",
    "?",
    "a",
    "a=1&a=2",
    "=&=",
    "_method=DELETE",
    "x=%",
    "&" * 2000,
    ";",
    "\xff",
    "a=\xff",
)
#: Headers, as the variables in which a server passes them to an application.
_HEADERS: dict[str, Sequence[str | bool | None]] = {
    "HTTP_ACCEPT": (
        *(None, "", "*/*", "text/html", "application/xml", "a", ";", "application/json;q=x", ","),
        *("\xff\xfe", "application/*", "image/png, */*;q=0", "x" * 9000, "text/html;level=1;q=2"),
    ),
    "CONTENT_LENGTH": (None, "", "0", "1", "-1", "x", "1.5", "99999", "9" * 30, "+5", "\xb2"),
    "HTTP_TRANSFER_ENCODING": ("chunked", "gzip, chunked", "identity", "x", ""),
    "wsgi.input_terminated": (True,),
    "HTTP_OPENSTACK_API_VERSION": (
        *("reservation 1.0", "reservation 99.9", "reservation latest", "reservation x", ","),
        *("reservation", "", "compute 2.1", "reservation 1.0 2.0", "reservation  1.0", "\xff"),
    ),
    "HTTP_ACCEPT_LANGUAGE": ("de", "zz;q=x", "", "*", "\xff", "../../x", "x" * 9000),
    "HTTP_HOST": (None, "", "x:y", "[::1]:99999", "\xff", "a b", "example.org/x", ":"),
    "HTTP_X_HTTP_METHOD_OVERRIDE": ("DELETE", "PUT"),
    "HTTP_X_FORWARDED_PROTO": ("https", "\xff", "x y", ""),
    "HTTP_X_FORWARDED_HOST": ("example.org", "a, b", "\xff", ""),
    "HTTP_FORWARDED": ("for=x;proto=https", "=", ";;", "\xff", "proto"),
    "HTTP_X_OPENSTACK_REQUEST_ID": ("req-x", "\xff", "x" * 9000, ""),
    "HTTP_X_SERVICE_TOKEN": ("x", "token-admin", "\xff", ""),
    "HTTP_X_IDENTITY_STATUS": ("Confirmed", "Invalid"),
    "HTTP_X_ROLES": ("admin", ""),
    "HTTP_X_PROJECT_ID": ("project-beta", "project-alpha", ""),
    "HTTP_X_SERVICE_CATALOG": ("x", "[]", "{}", ""),
    "HTTP_X_AUTH_TOKEN": ("", "\xff\xfe", "x" * 9000, "token-alpha, token-admin", " "),
    "HTTP_CONTENT_ENCODING": ("gzip", "x"),
    "HTTP_RANGE": ("bytes=0-1", "bytes=5-1", "x"),
    "HTTP_IF_NONE_MATCH": ("*", "x"),
    "HTTP_IF_MODIFIED_SINCE": ("x", "Mon, 99 Foo 2100 99:99:99 GMT"),
    "HTTP_IF_MATCH": ("x",),
    "HTTP_COOKIE": ("a=b", "\xff", "a=\x80;;=", '"'),
    "HTTP_AUTHORIZATION": ("Basic x", "Bearer", "\xff"),
    "HTTP_EXPECT": ("100-continue", "x"),
    "REMOTE_ADDR": (None, "", "x"),
    "SCRIPT_NAME": ("/reservation", "/", "/v1"),
}
CONTENT_TYPES = (
    *("application/json; charset=utf-8", "application/json; charset=utf-16", "text/plain", "", "x"),
    *("application/json; charset=nothing", "application/json;", "APPLICATION/JSON", "a/b/c", ";"),
    *("multipart/form-data", "multipart/form-data; boundary=x", "multipart/mixed", "text/html"),
    *("application/x-www-form-urlencoded", "application/xml", "text/xml; charset=x", "\xff", "*/*"),
    *("application/octet-stream", "application/json, text/plain", "application/json-patch+json"),
    *("application/javascript", "application/javascript; charset=utf-16"),
)


@dataclasses.dataclass(frozen=True)
class Request:
    """A request, and the path with parameters that it was made from."""

    number: int
    sender: str | None
    method: str
    template: str
    #: The path and the query as a client sends them.
    path: str
    query: str
    #: What differs from the usual headers, by WSGI variable. None: the variable is missing.
    headers: dict[str, Any]
    body: bytes

    def text(self) -> str:
        """The request for people, shortened."""
        query = f"?{self.query[:200]}" if self.query else ""
        headers = {name: repr(value)[:80] for name, value in self.headers.items()}
        line = f"{self.method} {self.path[:300]}{query} by {self.sender}"
        return f"{line} {headers or ''} {self.body[:400]!r}"

    def everything(self) -> str:
        """All that the sender has written, to which an answer may refer."""
        path, query = (urllib.parse.unquote(part, "latin-1") for part in (self.path, self.query))
        headers = "".join(map(str, self.headers.values()))
        return f"{path}{query}{headers}{self.body.decode('latin-1')}"


class Generator:
    """Generates the requests of a seed.

    :param v1: the rules of Blazar's v1, in Flask's form.
    """

    def __init__(self, seed: int, v1: Sequence[str]) -> None:
        self._seed = seed
        self.templates = (*ROOTS, *_v1_templates(v1), *BLAZARS_V2, *_documented_paths())
        self._everything = [(method, path) for path in self.templates for method in METHODS]
        self._usual = [
            *((o.method, root + o.path) for root in openapi.SERVERS for o in OPERATIONS),
            *(("GET", path) for path in (*_v1_templates(v1), *BLAZARS_V2)),
            *_WRITES,
        ]
        # Requests that change something get further than those that read.
        self._usual += [each for each in self._usual if each[0] in ("POST", "PUT", "PATCH")] * 3

    def request(self, number: int, known: Known) -> Request:
        """The request with a number.

        Requests with even numbers go through all methods of all paths, in random order. The others
        are mostly valid, so that they get further.
        """
        chance = random.Random(f"{self._seed}/{number}")
        if number % 2:
            method, template = chance.choice(self._usual)
        else:
            turn, place = divmod(number // 2, len(self._everything))
            method, template = self._shuffled(turn)[place]
        sender = chance.choices(SENDERS, _WEIGHTS)[0]
        if number % 2 and not _may(sender, method, template):
            sender = "admin"
        oddness = chance.choice((0, 0.05, 0.3))
        body, kind = odd_bodies.body(chance, template, method, known, sender or "", oddness)
        headers = {} if kind is None else {"CONTENT_TYPE": kind}
        headers |= _headers(chance, oddness)
        path = _path(chance, template, known, sender or "", oddness)
        query = _query(chance, template, method, oddness)
        return Request(number, sender, method, template, path, query, headers, body)

    @functools.lru_cache(maxsize=2)  # noqa: B019 - a generator lives as long as the process
    def _shuffled(self, turn: int) -> list[tuple[str, str]]:
        shuffled = list(self._everything)
        random.Random(f"{self._seed}/turn {turn}").shuffle(shuffled)
        return shuffled


def _may(sender: str | None, method: str, template: str) -> bool:
    """Whether members may send such requests. Operators may send all, as strangers may not."""
    for_members = "reservations" in template or "leases" in template or method == "GET"
    return for_members and "os-hosts" not in template and sender in ("alpha", "beta", "admin")


def _v1_templates(rules: Sequence[str]) -> list[str]:
    return [re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule) for rule in rules]


def _documented_paths() -> list[str]:
    paths = dict.fromkeys(operation.path for operation in OPERATIONS)
    return [root + path for root in openapi.SERVERS for path in paths]


def _path(chance: random.Random, template: str, known: Known, sender: str, oddness: float) -> str:
    """A path of a template. With an oddness of 0, its ids are of what the sender may see."""

    def value(match: re.Match[str]) -> str:
        if chance.random() < oddness:
            return chance.choice(_SEGMENTS)
        return urllib.parse.quote(odd_bodies.choose(chance, known, match[1], sender, oddness))

    segments = re.sub(r"{(\w+)}", value, template).split("/")
    if chance.random() < oddness:
        segments.insert(chance.randint(1, len(segments)), chance.choice(_SEGMENTS))
    if len(segments) > 1 and chance.random() < oddness / 2:
        segments[chance.randrange(1, len(segments))] = chance.choice(_SEGMENTS)
    path = "/".join(segments)
    if chance.random() < oddness / 3:
        path = chance.choice((path.upper(), path + "/", path + ".json", "/" + path, path + "//"))
    return path


def _query(chance: random.Random, template: str, method: str, oddness: float) -> str:
    if chance.random() < oddness / 3:
        return chance.choice(_QUERIES)
    if chance.random() > max(oddness, 0.3 if method == "GET" else 0.05):
        return ""
    names: Sequence[str] = _QUERY_NAMES
    for operation in OPERATIONS:
        if operation.query and operation.method == method and template.endswith(operation.path):
            # Without an oddness, these are the parameters of the path.
            names = _QUERY_NAMES if chance.random() < oddness else sorted(operation.query)
    pairs = [
        f"{chance.choice(names)}={chance.choice(_QUERY_VALUES)}"
        for _ in range(chance.choice((1, 1, 1, 2, 3)))
    ]
    return "&".join(pairs)


def _headers(chance: random.Random, oddness: float) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if chance.random() < oddness:
        headers["CONTENT_TYPE"] = chance.choice(CONTENT_TYPES)
    while chance.random() < oddness:
        name = chance.choice(list(_HEADERS))
        headers[name] = chance.choice(_HEADERS[name])
    return headers


def decoded(path: str) -> str:
    """A path as a WSGI server passes it to an application."""
    return urllib.parse.unquote_to_bytes(path).decode("latin-1")
