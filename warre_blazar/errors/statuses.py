"""The HTTP status of every error, by its code: one table for v2, for v1 and for the manager.

v2 has the same statuses as Warre, so that Warre's clients see no difference. Blazar's v1 can answer
with fewer statuses. ``blazar_errors`` has the Blazar exceptions for the statuses of v1.
"""

from typing import NamedTuple


class HttpStatuses(NamedTuple):
    """The statuses of one error."""

    v2: int = 400
    #: The status in v1 when the manager raises the error while it creates a lease.
    v1_creation: int = 400
    #: The status in v1 when the manager raises the error while it changes a lease. Only 400 and 409
    #: are possible: Blazar would set the lease to ERROR after the exceptions for other statuses.
    v1_change: int = 400


#: Statuses by error code. An error whose code isn't here is answered with 400 everywhere.
STATUSES: dict[str, HttpStatuses] = {
    "forbidden": HttpStatuses(403),
    "flavor_not_found": HttpStatuses(404, v1_creation=404),
    "reservation_not_found": HttpStatuses(404, v1_creation=404),
    "window_not_found": HttpStatuses(404),
    "series_not_found": HttpStatuses(404),
    "wait_not_found": HttpStatuses(404),
    "access_not_found": HttpStatuses(404),
    "share_not_found": HttpStatuses(404),
    "calendar_not_found": HttpStatuses(404),
    "not_found": HttpStatuses(404),
    "method_not_allowed": HttpStatuses(405),
    "not_acceptable": HttpStatuses(406),
    "flavor_ambiguous": HttpStatuses(409, v1_creation=409),
    # The 400 is for Warre's path. On all other paths, a caller who may not see the flavor gets
    # ``flavor_not_found`` (``error_bodies.as_ours``).
    "flavor_not_accessible": HttpStatuses(400, v1_creation=404),
    "flavor_in_use": HttpStatuses(409),
    "window_conflict": HttpStatuses(409),
    "access_exists": HttpStatuses(409),
    "share_exists": HttpStatuses(409),
    "calendar_exists": HttpStatuses(409),
    "lease_shared": HttpStatuses(409),
    "series_ended": HttpStatuses(409, v1_creation=409),
    "series_refused": HttpStatuses(409),
    "no_host_matches": HttpStatuses(409, v1_creation=409),
    "fixed_value": HttpStatuses(409, v1_change=409),
    "conflict": HttpStatuses(409),
    "try_again": HttpStatuses(409, v1_creation=409),
    "invalid_state": HttpStatuses(409),
    "length_required": HttpStatuses(411),
    "changed_since_shown": HttpStatuses(412, v1_change=409),
    "body_too_large": HttpStatuses(413),
    "too_many_reservations": HttpStatuses(413),
    "wait_over": HttpStatuses(409, v1_creation=409),
    "too_many_waits": HttpStatuses(413),
    "quota_exceeded": HttpStatuses(413, v1_creation=413),
    "invalid_field": HttpStatuses(422),
    "idempotency_key_reused": HttpStatuses(422),
    "internal": HttpStatuses(500),
    "service_refused": HttpStatuses(502, v1_creation=502),
    "service_unavailable": HttpStatuses(503, v1_creation=503),
    "no_answer": HttpStatuses(503),
    "limits_not_registered": HttpStatuses(503, v1_creation=503),
    "misconfigured": HttpStatuses(503, v1_creation=503),
}

_DEFAULT = HttpStatuses()


def in_controllers(code: str, method: str) -> int:
    """The status that a controller of v2 answers with.

    For an invalid field in a PATCH the status is 400, as in Warre.
    """
    if code == "invalid_field" and method == "PATCH":
        return 400
    return STATUSES.get(code, _DEFAULT).v2


def around_blazar(code: str) -> int:
    """The status of the answer if a request to v1 or v2 is refused before a controller gets it.

    For an invalid field the status is 400, as everywhere in Blazar's v1.
    """
    return 400 if code == "invalid_field" else STATUSES.get(code, _DEFAULT).v2


def in_manager(code: str, *, updating: bool) -> int:
    """The status that v1 answers with when the manager raises the error.

    :param updating: whether the manager is changing a lease, not creating one.
    """
    statuses = STATUSES.get(code, _DEFAULT)
    return statuses.v1_change if updating else statuses.v1_creation
