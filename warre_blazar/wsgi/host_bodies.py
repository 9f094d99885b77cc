"""JSON Schemas of the bodies with which hosts and their properties are changed over Blazar's v1.

Blazar doesn't check these bodies. Its manager fails on values that aren't text, and writes every
key of a property's body into the property's row.
"""

from typing import Any

from warre_blazar.api import parsing
from warre_blazar.fields.kinds import EXPECTED, Schema
from warre_blazar.texts import expected
from warre_blazar.wsgi import lease_bodies

_PRINTABLE: Schema = {"not": {"type": "string", "pattern": r"[\u0000-\u001f\u007f]"}}
#: The name or id of a host. Blazar writes it into the path of a request to Nova as it is, so that a
#: name such as "../servers" would lead to another path.
_REFERENCE: Schema = {
    "type": "string",
    "maxLength": 255,
    "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$",
    **_PRINTABLE,
    EXPECTED: expected.HOST_REF(),
}
#: The value of a host's property. Null removes the property.
_VALUE: Schema = {
    "type": ["string", "number", "boolean", "null"],
    "maxLength": 4096,
    EXPECTED: expected.PROPERTY_VALUE(most=4096),
}
_NAME: Schema = {
    "minLength": 1,
    "maxLength": 64,
    **_PRINTABLE,
    EXPECTED: expected.PRINTABLE_NAMES(most=64),
}
_PROPERTY: Schema = {
    "type": "object",
    "required": ["private"],
    "properties": {"private": {"type": "boolean"}},
}


def checked(method: str, body: bytes) -> dict[str, Any]:
    """Check the body of a request that creates or changes a host, or changes a property.

    :param method: POST creates a host, PUT changes a host, and PATCH changes a property.
    :param body: the body as it was sent.
    :returns: the checked body, which Blazar reads in place of the original one.
    :raises InvalidField: a field isn't valid.
    :raises Refused: the body is empty or isn't JSON.
    """
    document = parsing.json_object(body)
    lease_bodies.check_values("body", document, lease_bodies.MAX_DEPTH)
    parsing.check(document, _PROPERTY if method == "PATCH" else _host(document, method))
    return document


def _host(document: dict[str, Any], method: str) -> Schema:
    """The schema of a host. Its properties can have any names."""
    references = {"name": _REFERENCE, "id": _REFERENCE}
    return {
        "type": "object",
        "required": ["name"] if method == "POST" and "id" not in document else [],
        "propertyNames": _NAME,
        "properties": {**dict.fromkeys(document, _VALUE), **references},
    }
