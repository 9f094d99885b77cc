"""Errors as HTTP answers. The statuses are Warre's, so that its clients notice nothing."""

from typing import Any

from warre_blazar import exceptions

#: Status by error code; all others are 400.
STATUS: dict[str, int] = {
    "forbidden": 403,
    "flavor_not_found": 404,
    "reservation_not_found": 404,
    "window_not_found": 404,
    "access_not_found": 404,
    "not_found": 404,
    "method_not_allowed": 405,
    "not_acceptable": 406,
    "flavor_exists": 409,
    "flavor_in_use": 409,
    "window_conflict": 409,
    "access_exists": 409,
    "lease_shared": 409,
    "owner_gone": 409,
    "fixed_value": 409,
    "conflict": 409,
    "try_again": 409,
    "invalid_state": 409,
    "length_required": 411,
    "body_too_large": 413,
    "too_many_reservations": 413,
    "quota_exceeded": 413,
    "invalid_field": 422,
    "internal": 500,
    "service_refused": 502,
    "service_unavailable": 503,
    "no_answer": 503,
    "limits_not_registered": 503,
}

_NAMES = {
    400: "BAD_REQUEST",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    406: "NOT_ACCEPTABLE",
    409: "CONFLICT",
    411: "LENGTH_REQUIRED",
    413: "REQUEST_ENTITY_TOO_LARGE",
    422: "UNPROCESSABLE_ENTITY",
    500: "INTERNAL_SERVER_ERROR",
    502: "BAD_GATEWAY",
    503: "SERVICE_UNAVAILABLE",
}

#: Codes for what pecan itself refuses.
CODES = {404: "not_found", 405: "method_not_allowed", 406: "not_acceptable"}


def status(code: str, method: str) -> int:
    """The status of an error's code; a bad field of a change is 400, as with Warre."""
    if code == "invalid_field" and method == "PATCH":
        return 400
    return STATUS.get(code, 400)


def body(status_code: int, error: exceptions.WarreError) -> dict[str, Any]:
    """The body: Blazar's three keys, a stable code, and data where there are any."""
    document: dict[str, Any] = {
        "error_code": status_code,
        "error_message": error.message,
        "error_name": _NAMES[status_code],
        "code": error.code,
    }
    if error.detail:
        document["detail"] = error.detail
    return document
