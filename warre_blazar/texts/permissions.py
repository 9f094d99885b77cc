"""Refusals of requests that policies or Keystone don't allow."""

from warre_blazar.texts.entries import Entry

FORBIDDEN = Entry("forbidden", "Policy doesn't allow {action} to be performed")


def _rule(reason: str, template: str) -> Entry:
    frame = "{clause} (Policy doesn't allow {action} to be performed)"
    return Entry("forbidden", template, reason, frame=frame)


ONLY_SEEN = _rule("only_seen", "Your role lets you see this, but not change it")
NO_ROLE = _rule(
    "no_role",
    "You have no role in the project {project}; you get one with openstack role add --project "
    "{project} --user {user} member",
)
OTHER_FLAVORS = _rule(
    "other_flavors",
    "all_projects: only an operator may list inactive flavors and private ones of other projects; "
    "leave all_projects out to list those that your project may book",
)
OTHER_PROJECTS = _rule(
    "other_projects",
    "{field}: only an operator may {what:noun} of other projects; leave {field} out to see what is "
    "of your own",
)
#: What ``OTHER_PROJECTS`` may be about.
LIST_RESERVATIONS, LIST_SERIES, LIST_WAITS = "list reservations", "list series", "list waits"
LIST_REFUSALS, SEE_USAGE = "list refused requests", "see the usage"
LIST_SHARES, LIST_CALENDARS = "list shares", "list calendars"
LISTED = (
    LIST_RESERVATIONS,
    LIST_SERIES,
    LIST_WAITS,
    LIST_REFUSALS,
    SEE_USAGE,
    LIST_SHARES,
    LIST_CALENDARS,
)
NO_ROLE_TO_BOOK = _rule(
    "no_role_to_book",
    "{why:said}, so nobody could book for you later. A federated login has roles only while you "
    "are logged in. Book now, wait with the mode tell, or ask for a role assignment of your own",
)
NO_ROLE_TO_SUBSCRIBE = _rule(
    "no_role_to_subscribe",
    "Keystone lists no role of yours in the project that lets you list reservations, so the "
    "address would show nothing. A federated login has roles only while you are logged in; ask for "
    "a role assignment of your own",
)
NO_PROJECT = Entry(
    "forbidden",
    "The token is for no project, so nothing can be seen or done with it here; ask Keystone for a "
    "token for a project (OS_PROJECT_NAME and OS_PROJECT_DOMAIN_NAME, or the cloud's entry in "
    "clouds.yaml)",
    "no_project",
)
CANNOT_WAIT = Entry("forbidden", "{why:said}, so it can't wait for anything", "cannot_wait")


def _disabled(reason: str, template: str) -> Entry:
    """Why Keystone wouldn't let the user of a wait book."""
    return Entry("not_permitted", template, reason)


USER_GONE = _disabled("user_gone", "The user {id} doesn't exist any more")
USER_DISABLED = _disabled("user_disabled", "The user {id} is disabled")
USER_DOMAIN_DISABLED = _disabled("user_domain_disabled", "The domain of the user {id} is disabled")
PROJECT_GONE = _disabled("project_gone", "The project {id} doesn't exist any more")
PROJECT_DISABLED = _disabled("project_disabled", "The project {id} is disabled")
PROJECT_DOMAIN_DISABLED = _disabled(
    "project_domain_disabled", "The domain of the project {id} is disabled"
)
ROLE_MISSING = _disabled(
    "role_missing", "Keystone lists no role of yours in the project that lets you book"
)
