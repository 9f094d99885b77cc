"""Requests to the v2 API over the connection that either CLI made for v1."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from blazarclient import base
from blazarclient.exception import BlazarClientException, NoBlazarEndpoint

Document = dict[str, Any]

#: Seconds to wait for an answer where the CLI has no limit of its own: bookings take a while.
TIMEOUT = 300

_VERSION = re.compile(r"/v\d+(\.\d+)?/*$")
_HTML = re.compile(r"<(!doctype|html)\b", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


class V2Client:
    """The documents of the v2 API.

    Every method raises BlazarClientException, its text one line with the API's
    ``error_message``, when the API refuses.

    :param client: of ``BlazarCommand.get_client()``.
    """

    def __init__(self, client: Any) -> None:
        manager = client.lease.request_manager
        self._options: dict[str, Any] = {}
        if isinstance(manager, base.RequestManager):
            self._url = _v2(manager.blazar_url)
            self._manager = base.RequestManager(self._url, manager.auth_token, manager.user_agent)
            limit = None
        else:
            # No version: what the catalogue says is enough, and costs no request.
            self._url = _v2(manager.get_endpoint(version=None))
            self._manager = manager
            self._options["endpoint_override"] = self._url
            limit = manager.session.timeout
        if limit is None:
            self._options["timeout"] = TIMEOUT

    def list(self, noun: str, query: Mapping[str, str]) -> list[Document]:
        """All of them, however many pages the API makes of them."""
        found: list[Document] = []
        wanted = list(query.items())
        while True:
            page = self._document("GET", f"/{noun}?{urlencode(wanted)}" if wanted else f"/{noun}")
            found += page["results"]
            if not page.get("next"):
                return found
            # Its query only: behind a proxy the API may not know its own address.
            wanted = parse_qsl(urlsplit(page["next"]).query)

    def get(self, noun: str, ref: str) -> Document:
        """One, by id or by whatever else the API knows it by."""
        return self._document("GET", _path(noun, ref))

    def create(self, noun: str, values: Document) -> Document:
        """Make one, and return it."""
        return self._document("POST", f"/{noun}", body=values)

    def update(self, noun: str, ref: str, values: Document) -> Document:
        """Change one, and return it as it is then."""
        return self._document("PATCH", _path(noun, ref), body=values)

    def delete(self, noun: str, ref: str) -> bool:
        """Delete one.

        :returns: whether it is gone; False: that is under way.
        """
        response, _ = self._request("DELETE", _path(noun, ref))
        return response.status_code != 202

    def _document(self, method: str, path: str, **kwargs: Any) -> Document:
        response, document = self._request(method, path, **kwargs)
        if not isinstance(document, dict):
            raise BlazarClientException(
                f"ERROR: {self._url}{path} answered {response.status_code} without a JSON "
                "document; is it Blazar's endpoint?"
            )
        return document

    def _request(self, method: str, path: str, **kwargs: Any) -> tuple[Any, Any]:
        try:
            return self._manager.request(path, method, **kwargs, **self._options)
        except BlazarClientException as error:
            code = error.kwargs.get("code")
            raise BlazarClientException(self._line(str(error), code), code=code) from error

    def _line(self, text: str, code: int | None) -> str:
        """An error on one line; a page for browsers isn't from our API."""
        if _HTML.search(text):
            if code == 404:
                return f"ERROR: {self._url} doesn't serve this; does its API have warre-blazar?"
            text = _TAG.sub(" ", text)
        return " ".join(text.split())


def _v2(endpoint: str | None) -> str:
    if not endpoint:
        raise NoBlazarEndpoint()
    return _VERSION.sub("", endpoint.rstrip("/")) + "/v2"


def _path(noun: str, ref: str) -> str:
    if ref in ("", ".", "..") or "/" in ref:
        raise BlazarClientException(f"ERROR: {ref!r} can't be looked up by name; give the ID")
    return f"/{noun}/{quote(ref, safe='')}"
