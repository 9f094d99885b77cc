"""What to say of an error: what is wrong, and what to do."""

from warre_blazar.cli.names import Fields
from warre_blazar.client import errors

NO_CREDENTIALS = (
    "No credentials: set OS_AUTH_TYPE=password, OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, "
    "OS_PROJECT_NAME, OS_USER_DOMAIN_ID and OS_PROJECT_DOMAIN_ID (your cloud's openrc file does), "
    "or OS_CLOUD"
)

#: By the API's code. Fields are of the error's detail, or commands.
_ADVICE = {
    "flavor_inactive": "The operator has closed it; see {flavor-list} for others",
    "flavor_not_accessible": "Ask the operator for access ({flavor-access-grant})",
    "too_long": "Book at most {max_length_hours} hours at a time",
    "maintenance": "See {maintenance-window-list}, and {flavor-free-slots} for other times",
    "flavor_in_use": "See {reservation-list} --all-projects --flavor {flavor}",
    "try_again": "Try again",
    "window_conflict": "See {reservation-list} --all-projects for what is booked then",
    "lease_shared": "Change it by its lease, {lease} ({lease-update}, {lease-delete})",
    "access_exists": "See {flavor-access-list}",
    "limits_not_registered": "The operator has to register them, see the installation guide",
    "quota_exceeded": "See {limits-show}; delete a reservation, or ask the operator for more",
    "no_answer": "See {reservation-list} before you try again",
    "forbidden": "It takes another role; ask the operator",
    "service_unavailable": "Try again later",
}


def on(error: errors.ClientError, app: object) -> str:
    """The error's own text, and what helps if that is known.

    :param app: the CLI that is running, whose commands' names are used.
    """
    text = str(error)
    code = error.code if isinstance(error, errors.ApiError) else ""
    if not isinstance(error, errors.ApiError) or code not in _ADVICE:
        return text
    try:
        hint = _ADVICE[code].format_map(Fields(app, **error.detail))
    except (KeyError, ValueError, TypeError):
        return text
    # The API says some of it itself.
    return text if hint.lower() in text.lower() else f"{text.rstrip('.')}. {hint}"
