"""Answers the list of the API's versions, with links that lead to where the client came from."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import webob

from warre_blazar.api import pecan_requests

Application = Callable[..., Iterable[bytes]]

PATHS = ("/", "/versions")

#: What the list says about /v2. Blazar itself calls its own v2, which has other paths, deprecated.
_V2 = {"id": "v2.0", "status": "SUPPORTED"}


def answer(environ: dict[str, Any], start_response: Any, v1: Application) -> Iterable[bytes]:
    """Answer a GET of the list as Blazar's application for v1 does, and add /v2.

    Blazar checks the token, and writes what it serves as v1. Its links have the address that Blazar
    itself has behind a proxy, so they are written anew.
    """
    request = webob.Request(environ)
    response = request.get_response(v1)
    if response.status_int == 300:
        root = pecan_requests.as_sent(request).application_url
        versions = [*response.json["versions"], _V2]
        document = {"versions": [{**each, "links": _link(root, each)} for each in versions]}
        response.body = json.dumps(document).encode()
    return response(environ, start_response)


def _link(root: str, version: dict[str, Any]) -> list[dict[str, str]]:
    major = version["id"].partition(".")[0]
    return [{"href": f"{root}/{major}", "rel": "self"}]
