"""The bodies of error responses. The statuses of the responses are in ``errors.statuses``."""

from typing import Any

from warre_blazar import texts
from warre_blazar.errors import exceptions

_NAMES = {
    400: "BAD_REQUEST",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    406: "NOT_ACCEPTABLE",
    409: "CONFLICT",
    411: "LENGTH_REQUIRED",
    412: "PRECONDITION_FAILED",
    413: "REQUEST_ENTITY_TOO_LARGE",
    422: "UNPROCESSABLE_ENTITY",
    500: "INTERNAL_SERVER_ERROR",
    502: "BAD_GATEWAY",
    503: "SERVICE_UNAVAILABLE",
}

#: The error codes of requests that Pecan refuses, by Pecan's status.
CODES = {404: "not_found", 405: "method_not_allowed", 406: "not_acceptable"}


def as_ours(error: exceptions.WarreError) -> exceptions.WarreError:
    """The error to answer with on all paths except Warre's.

    If the caller has no access to a private flavor, the answer is the same as if the flavor didn't
    exist.
    """
    if error.code == exceptions.FlavorNotAccessible.code and "flavor" in error.detail:
        return exceptions.FlavorNotFound(error.detail["flavor"])
    return error


#: Who reads answers of Warre. Its times have seconds, and no time zone.
_WARRES_READER = texts.reader(lambda moment: f"{moment:%Y-%m-%d %H:%M:%S}")


def as_warres(error: exceptions.WarreError) -> exceptions.WarreError:
    """The error to answer with on Warre's path. Warre's clients know fewer codes."""
    detail = error.detail
    error.message = texts.word(error.document, _WARRES_READER)
    if error.code == exceptions.FlavorNotAccessible.code:
        return exceptions.FlavorNotBookable(texts.refusals.FLAVOR_NOT_ACCESSIBLE())
    if error.code == exceptions.FlavorNotFound.code and "reason" not in detail:
        error.message = texts.refusals.WARRES_FLAVOR_NOT_FOUND(flavor=detail["flavor"])
    if error.code != exceptions.NoHostMatches.code:
        return error
    return exceptions.HostsExhausted(detail.get("asked", 1), 0, detail.get("matching", 0))


def body(status_code: int, error: exceptions.WarreError) -> dict[str, Any]:
    """An error's body: Blazar's three keys, ``code``, and ``detail`` if the error has any."""
    document: dict[str, Any] = {
        "error_code": status_code,
        "error_message": error.message,
        "error_name": _NAMES[status_code],
        "code": error.code,
    }
    if error.detail:
        document["detail"] = error.detail
    return document
