"""Checks that an answer is one that the OpenAPI document describes."""

import functools
import re
from typing import Any

import jsonschema
import webob

from warre_blazar.api import openapi


@functools.cache
def document() -> dict[str, Any]:
    return openapi.document()


def operation_of(method: str, path: str) -> openapi.Operation | None:
    """The operation to which a request belongs, under either server's URL."""
    for root in sorted(openapi.SERVERS, key=len, reverse=True):
        if path.startswith(root + "/"):
            path = path.removeprefix(root).rstrip("/")
            break
    for operation in openapi.OPERATIONS:
        pattern = re.sub(r"{\w+}", "[^/]+", operation.path)
        if operation.method == method and re.fullmatch(pattern, path):
            return operation
    return None


def check(method: str, path: str, response: webob.Response) -> None:
    """Check that an answer is documented, or is an error if no operation is documented."""
    operation = operation_of(method, path)
    if response.status_int == 401 or method == "HEAD":
        return
    if operation is None or response.status_int == 406:
        assert response.status_int in (404, 405, 406), response
        _check_body(openapi.schemas.ERROR, response)
        return
    documented = document()["paths"][operation.path][method.lower()]["responses"]
    assert str(response.status_int) in documented, f"{method} {path}: {response}"
    content = documented[str(response.status_int)].get("content")
    if content is None:
        assert response.body == b"", response
    else:
        _check_body(content["application/json"]["schema"], response)


def _check_body(schema: dict[str, Any], response: webob.Response) -> None:
    assert response.content_type == "application/json", response
    # References of the schema are into the document's components.
    whole = {**schema, "components": document()["components"]}
    checker = jsonschema.FormatChecker()
    jsonschema.Draft202012Validator(whole, format_checker=checker).validate(response.json)


def without_names(path: str) -> str:
    """A path with ``{}`` in place of each named part."""
    return re.sub(r"{\w+}", "{}", path)
