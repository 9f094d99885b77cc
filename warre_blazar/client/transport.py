"""Requests to the v2 API beside the v1 endpoint of the catalogue."""

import functools
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from keystoneauth1 import adapter, discover
from keystoneauth1 import exceptions as ksa

from warre_blazar.client import errors
from warre_blazar.client.types import Document

#: Seconds to wait for an answer where the session has no limit of its own: bookings take a while.
TIMEOUT = 300

_VERSION = re.compile(r"/v\d+(\.\d+)?/*$")
_HTML = re.compile(r"<(!doctype|html)\b", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


class Transport:
    """Documents from and to the API.

    :param where: keystoneauth's ``interface``, ``region_name``, ``endpoint_override``.
    """

    def __init__(self, session: Any, service_type: str = "reservation", **where: Any) -> None:
        self._adapter = adapter.Adapter(
            session, service_type=service_type, user_agent="warre-blazar", **where
        )
        self._options: dict[str, Any] = {"raise_exc": False}
        if session.timeout is None:
            self._options["timeout"] = TIMEOUT

    @property
    def session(self) -> Any:
        """Keystone's."""
        return self._adapter.session

    @functools.cached_property
    def url(self) -> str:
        """Of v2, whatever version the catalogue's endpoint is of.

        Blazar is asked for its versions only where v2 doesn't answer: every command would wait.
        """
        try:
            endpoint = self._adapter.get_endpoint(version=None)
        except ksa.CatalogException:
            endpoint = None
        if not endpoint:
            raise errors.NoEndpoint(
                "The catalogue has no endpoint of type 'reservation' here; ask the operator, or "
                "choose another region or interface"
            )
        return f"{_VERSION.sub('', endpoint.rstrip('/'))}/v2"

    def _versions(self, root: str) -> list[str]:
        """What Blazar says that it serves; nothing where a proxy keeps that from us."""
        try:
            found = discover.Discover(self._patient(), f"{root}/", authenticated=True)
        except (ksa.DiscoveryFailure, ksa.HttpError):
            return []
        return [f"v{data['version'][0]}" for data in found.version_data(allow_deprecated=True)]

    def _patient(self) -> Any:
        limit = {k: v for k, v in self._options.items() if k == "timeout"}
        return _Patient(self.session, limit)

    def list(self, noun: str, query: Mapping[str, str] | None = None) -> list[Document]:
        """All of a noun, however many pages the API makes of them."""
        found: list[Document] = []
        wanted = list((query or {}).items())
        while True:
            page = self.ask("GET", f"/{noun}", query=wanted)
            if not isinstance(page, dict) or "results" not in page:
                raise self._not_served(f"GET /{noun}?{urlencode(wanted)}")
            found += page["results"]
            if not page.get("next"):
                return found
            # Its query only: behind a proxy the API may not know its own address.
            wanted = parse_qsl(urlsplit(page["next"]).query)

    def ask(self, verb: str, path: str, *, query: Any = (), body: Document | None = None) -> Any:
        """The document that answers a request."""
        response = self.send(verb, path, query=query, body=body)
        document = _document(response)
        if document is None:
            raise errors.NoDocument(
                f"{self.url}{path} answered {response.status_code} without a JSON document; "
                "is it Blazar's endpoint?"
            )
        return document

    def send(self, verb: str, path: str, *, query: Any = (), body: Document | None = None) -> Any:
        """The response to a request.

        :raises errors.ClientError: when it is an error, or Blazar doesn't know the request.
        """
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        options = {"json": body} if body is not None else {}
        headers = {"Accept": "application/json"}
        response = self._adapter.request(
            url, verb, headers=headers, endpoint_override=self.url, **options, **self._options
        )
        if response.status_code >= 400:
            raise self._error(f"{verb} {path}", response)
        return response

    def _error(self, asked: str, response: Any) -> errors.ClientError:
        document = _document(response)
        status = response.status_code
        if isinstance(document, dict) and "error_message" in document:
            code = document.get("code") or ""
            if code in ("not_found", "method_not_allowed") and asked.startswith("GET"):
                return self._not_served(asked)
            error = errors.NotFound if status == 404 else errors.ApiError
            text = " ".join(str(document["error_message"]).split())
            return error(text, status, code, document.get("detail"))
        if status in (404, 405):
            return self._not_served(asked)
        said = " ".join(_TAG.sub(" ", response.text).split())[:500]
        return errors.ApiError(said or f"{asked}: {status} without a word", status)

    def _not_served(self, asked: str) -> errors.ClientError:
        root = self.url.removesuffix("/v2")
        known = self._versions(root)
        if known and "v2" not in known:
            return errors.NoEndpoint(
                f"Blazar at {root} serves {', '.join(known)} only; the operator has to enable v2"
            )
        return errors.NotServed(
            f"{self.url} doesn't serve {asked}: its blazar-api has no warre-blazar, or one that "
            "is older than this command; ask the operator"
        )


class _Patient:
    """As much of a session as discovery takes, with a limit to its patience."""

    def __init__(self, session: Any, limit: dict[str, Any]) -> None:
        self._session = session
        self._limit = limit

    def get(self, url: str, **options: Any) -> Any:
        return self._session.get(url, **self._limit, **options)


def path(noun: str, ref: str) -> str:
    """Of one of a noun.

    :raises ValueError: what no path can name.
    """
    if not routable(ref):
        raise ValueError(ref)
    return f"/{noun}/{quote(ref, safe='')}"


def routable(ref: str) -> bool:
    """Whether a path can name it."""
    return ref not in ("", ".", "..") and "/" not in ref


def _document(response: Any) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
