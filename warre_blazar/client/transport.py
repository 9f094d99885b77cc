"""Sends requests to the v2 API. Its URL is derived from Blazar's endpoint in the catalog."""

import functools
import re
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from keystoneauth1 import adapter, discover
from keystoneauth1 import exceptions as ksa

from warre_blazar import texts, timer
from warre_blazar.client import errors, times
from warre_blazar.client.types import Document

#: The end of an endpoint's URL: an API version, or the path that Warre's clients find.
_VERSION = re.compile(r"/v\d+(\.\d+)?(/warre(/v1)?)?/*$")
_TAG = re.compile(r"<[^>]*>")
#: The header with the idempotency key.
_KEY = "Idempotency-Key"
_NOT_FOUND = 404
#: What is said before requests are sent again.
_REPEATING = (
    f"No answer from the API yet ({{reason}}). Trying again for {sum(times.REPEATED_AFTER)} s."
)


class Transport:
    """Sends and receives the API's JSON documents.

    :param connected: an adapter of keystoneauth for Blazar's endpoint.
    :param idempotency_key: the key of each request that creates something. None: each has its own.
    :param reader: for whom the sentences of answers are worded. None: they stay as the API words
        them.
    :param tell: is called with a sentence before a request that wasn't answered is sent again.
    """

    def __init__(
        self,
        connected: adapter.Adapter,
        idempotency_key: str | None = None,
        reader: texts.Reader | None = None,
        tell: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._adapter, self._key, self._reader = connected, idempotency_key, reader
        self._tell = tell
        self._options: dict[str, Any] = {"raise_exc": False}
        if connected.session.timeout is None:
            self._options["timeout"] = times.ANSWER_TIMEOUT

    @property
    def session(self) -> Any:
        """The keystoneauth1 session."""
        return self._adapter.session

    @functools.cached_property
    def url(self) -> str:
        """The URL of the v2 API. The URL in the catalog may end with another version of the API.

        The client doesn't check in advance whether Blazar serves v2, because each command would
        then have to send one more request. If Blazar doesn't serve a request, the client reads
        Blazar's list of versions, and raises an error that says what is missing.

        :raises errors.NoEndpoint: the catalog has no endpoint for Blazar.
        """
        try:
            endpoint = self._adapter.get_endpoint(version=None)
        except ksa.CatalogException:
            endpoint = None
        if not endpoint:
            raise errors.NoEndpoint(
                "The service catalog has no endpoint of type 'reservation' here; ask the operator, "
                "or choose another region or interface"
            )
        return f"{_VERSION.sub('', endpoint.rstrip('/'))}/v2"

    def _versions(self, root: str) -> list[str]:
        """Return the API versions that Blazar serves. The list is empty if a proxy hides them."""
        try:
            versions = discover.Discover(
                self._discovery_session(), f"{root}/", authenticated=True
            ).version_data(allow_deprecated=True)
        except (ksa.DiscoveryFailure, ksa.HttpError):
            return []
        return [f"v{data['version'][0]}" for data in versions]

    def _discovery_session(self) -> Any:
        timeout = {k: v for k, v in self._options.items() if k == "timeout"}
        return _SessionWithTimeout(self.session, timeout)

    def list(
        self, noun: str, query: Mapping[str, str] | None = None, limit: int | None = None
    ) -> list[Document]:
        """Return the documents of all objects of a kind, or of the first ``limit`` objects.

        The function reads as many pages of the listing as it needs.

        :param noun: the kind of object, as it is spelled in paths.
        """
        documents: list[Document] = []
        parameters = list((query or {}).items())
        if limit is not None:
            parameters.append(("limit", str(limit)))
        while True:
            page = self.request_document("GET", f"/{noun}", query=parameters)
            if not isinstance(page, dict) or "results" not in page:
                raise self._not_served(f"GET /{noun}?{urlencode(parameters)}")
            documents += page["results"]
            if not page.get("next") or (limit is not None and len(documents) >= limit):
                return documents[:limit]
            # Only the query of the link to the next page is used. Behind a proxy, the link's host
            # may be wrong.
            parameters = parse_qsl(urlsplit(page["next"]).query)

    def page(
        self, noun: str, query: Mapping[str, str], size: int, number: int
    ) -> tuple[Sequence[Document], int]:
        """Return the documents on one page of a listing, and how many there are on all pages.

        :param size: the number of documents on each page.
        :param number: the number of the page. The first one is 1.
        """
        parameters = {**query, "limit": str(size), "page": str(number)}
        page = self.request_document("GET", f"/{noun}", query=parameters)
        if not isinstance(page, dict) or "total" not in page:
            raise self._not_served(f"GET /{noun}?{urlencode(parameters)}")
        return page["results"], page["total"]

    def request_document(
        self,
        method: str,
        path: str,
        *,
        query: Any = (),
        body: Document | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return the JSON document of its response.

        The errors are those of ``request_tagged``.
        """
        document, _ = self.request_tagged(method, path, query=query, body=body, headers=headers)
        return document

    def request_tagged(
        self,
        method: str,
        path: str,
        *,
        query: Any = (),
        body: Document | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[Any, str | None]:
        """Send a request and return the JSON document and the ETag of its response.

        :raises errors.NoDocument: the response has no JSON document.
        :raises errors.ClientError: the response is an error.
        """
        response = self.request(method, path, query=query, body=body, headers=headers)
        document = _document(response)
        if document is None:
            raise errors.NoDocument(
                f"{self.url}{path} answered {response.status_code} without a JSON document; "
                "is it Blazar's endpoint?"
            )
        return self.worded(document), response.headers.get("ETag")

    def create(self, path: str, body: Document, method: str = "POST") -> Any:
        """Send a request that creates something, and return the JSON document of its response.

        The errors are those of ``request_tagged``.

        :param method: ``PATCH`` if an object that exists already gets something more.
        """
        key = {_KEY: self._key} if self._key else {}
        return self.request_document(method, path, body=body, headers=key)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Any = (),
        body: Document | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return its response.

        If the answer to a request that changes something is lost, the request is sent again for
        half a minute. All these requests have the same idempotency key, so that the API creates
        only one item.

        :raises errors.Unanswered: it changes something, and none of the requests was answered.
        :raises errors.ClientError: the response is an error.
        """
        sent = {"query": query, "body": body, "headers": headers or {}}
        if method == "GET" or "dry_run" in dict(query):
            return self._once(method, path, **sent)
        # The token and the endpoint are asked for before, so that a Keystone that is away isn't
        # taken for a lost answer.
        _ = self.url
        sent["headers"] = {_KEY: str(uuid.uuid4()), **sent["headers"]}
        lost: list[Exception] = []
        for pause in (*times.REPEATED_AFTER, None):
            try:
                return self._once(method, path, **sent)
            except (ksa.RetriableConnectionFailure, ksa.UnknownConnectionError) as error:
                lost.append(error)
            except errors.ApiError as error:
                is_gone = method == "DELETE" and error.status == _NOT_FOUND
                if is_gone and any(map(_may_have_deleted, lost)):
                    raise errors.DeletedBefore(error) from error
                if not _leaves_open(error):
                    raise
                lost.append(error)
            if pause is not None:
                if pause == times.REPEATED_AFTER[0]:
                    self._tell(_REPEATING.format(reason=errors.brief(lost[-1])))
                timer.sleep(pause)
        has_arrived = any(map(_has_arrived, lost))
        raise errors.Unanswered(path.split("/")[1], lost[-1], has_arrived=has_arrived) from lost[-1]

    def _once(
        self,
        method: str,
        path: str,
        *,
        query: Any,
        body: Document | None,
        headers: Mapping[str, str],
    ) -> Any:
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        options = {"json": body} if body is not None else {}
        headers = {"Accept": "application/json", **headers}
        response = self._adapter.request(
            url, method, headers=headers, endpoint_override=self.url, **options, **self._options
        )
        if response.status_code >= 400:
            raise self._error(f"{method} {path}", response)
        return response

    def worded(self, answer: Any) -> Any:
        """Return an answer of the API with its sentences worded for the reader."""
        return answer if self._reader is None else texts.worded(answer, self._reader)

    def _error(self, request: str, response: Any) -> errors.ClientError:
        document = _document(response)
        status = response.status_code
        if isinstance(document, dict) and "error_message" in document:
            code = document.get("code") or ""
            if code in ("not_found", "method_not_allowed") and request.startswith("GET"):
                return self._not_served(request)
            error = errors.NotFound if status == 404 else errors.ApiError
            text = " ".join(str(document["error_message"]).split())
            said = {"code": code, "message": text, "detail": document.get("detail") or {}}
            said = self.worded(said)
            return error(said["message"], status, code, said["detail"])
        if status in (404, 405):
            return self._not_served(request)
        text = " ".join(_TAG.sub(" ", response.text).split())[:500]
        return errors.ApiError(text or f"{request}: {status} without an error message", status)

    def _not_served(self, request: str) -> errors.ClientError:
        root = self.url.removesuffix("/v2")
        versions = self._versions(root)
        if versions and "v2" not in versions:
            return errors.NoEndpoint(
                f"Blazar at {root} serves {', '.join(versions)} only; the operator has to enable v2"
            )
        return errors.NotServed(
            f"{self.url} doesn't serve {request}: its blazar-api has no warre-blazar, or a version "
            "of it that is older than this client; ask the operator to install or upgrade it"
        )


def _reached_nobody(error: BaseException | None) -> bool:
    """Whether a request can't have arrived, because there was no connection to send it over."""
    while error is not None:
        if isinstance(error, ConnectionRefusedError | socket.gaierror):
            return True
        error = error.__cause__ or error.__context__
    return False


def _has_arrived(error: Exception) -> bool:
    """Whether a request may have reached the API before this error."""
    return isinstance(error, errors.ApiError) or not _reached_nobody(error)


def _may_have_deleted(error: Exception) -> bool:
    """Whether a deletion may have been carried out before this error.

    A proxy that answers 502 or 503 has most likely no API behind it. If the object then isn't
    found, it is more likely that it never existed.
    """
    if isinstance(error, errors.ApiError):
        return error.status == HTTPStatus.GATEWAY_TIMEOUT or error.code == "no_answer"
    return _has_arrived(error)


def _leaves_open(error: errors.ApiError) -> bool:
    """Whether an error doesn't say if the request can be fulfilled.

    A proxy answers without a code if it gets no answer from the API.
    """
    without_code = not error.code and error.status in (502, 503, 504)
    return without_code or error.code in ("no_answer", "try_again")


def adapter_of(session: Any, service_type: str = "reservation", **choice: Any) -> adapter.Adapter:
    """Return an adapter for the endpoint of a service.

    :param choice: the arguments of keystoneauth that choose the endpoint: ``interface``,
        ``region_name`` and ``endpoint_override``.
    """
    return adapter.Adapter(session, service_type=service_type, user_agent="warre-blazar", **choice)


class _SessionWithTimeout:
    """A session for the discovery of versions. All its requests have a timeout."""

    def __init__(self, session: Any, timeout: dict[str, Any]) -> None:
        self._session = session
        self._timeout = timeout

    def get(self, url: str, **options: Any) -> Any:
        return self._session.get(url, **self._timeout, **options)


def path(noun: str, ref: str) -> str:
    """Return the path of one object.

    :param noun: the kind of object, as it is spelled in paths.
    :param ref: the object's id, or a flavor's name.
    :raises ValueError: a path can't contain ``ref``.
    """
    if not is_routable(ref):
        raise ValueError(ref)
    return f"/{noun}/{quote(ref, safe='')}"


def is_routable(ref: str) -> bool:
    """Whether ``ref`` can be one segment of a path."""
    return ref not in ("", ".", "..") and "/" not in ref


def _document(response: Any) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
