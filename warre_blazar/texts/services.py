"""Errors about other services, the manager, the database, and the configuration.

What another program says is a datum (``said``), and is never translated.
"""

from warre_blazar.texts.entries import Entry

#: The nouns of ``service`` that stand in sentences with their article.
NOUNS = (
    "The API",
    "The credits service",
    "The database",
    "The mail server",
    "The message bus",
    "The reservation manager",
    "The webhook",
)


def _away(reason: str, template: str) -> Entry:
    frame = "{service:noun} is not available ({clause}); try again later"
    return Entry("service_unavailable", template, reason, frame=frame)


#: The name of an exception, or what the service itself or a proxy in front of it has answered.
SAID = _away("said", "{said}")
TABLES_MISSING = _away(
    "tables_missing",
    "this package's tables are missing: the operator runs warre-blazar-manage setup",
)
BUSY = _away("busy", "it is busy with other series or maintenance windows")
SILENT = _away("silent", "no manager has been heard of for {seconds:number} seconds")
HELD = _away(
    "held",
    "the database was restored, or Placement hasn't been asked yet whether it was: if this stays, "
    "the operator reads the log of blazar-manager",
)
NOT_IN_CATALOG = _away("not_in_catalog", "Keystone's catalog doesn't list it")
NO_PROFILES = _away("no_profiles", "its answer isn't a list of device profiles")
OTHER_HOSTS = _away("other_hosts", "it didn't answer for other hosts")
CLASS_NOT_MADE = _away("class_not_made", "class {name} isn't made")
PROVIDER_TAKEN = _away("provider_taken", "provider {name} was taken away")
RESTLESS = _away("restless", "provider {provider} changes all the time")
CELL = _away("cell", "a cell doesn't answer")
NOT_IN_ANSWER = _away("not_in_answer", "no {name} in its answer")
LIMITS_SAID = _away("limits_said", "[oslo_limit]: {said}")
LIMITS_LOGIN = _away("limits_login", "no login in [oslo_limit] or [keystone_authtoken]: {said}")
LIMITS_REFUSED = _away(
    "limits_refused",
    "Keystone refuses the login in [oslo_limit], by default that of [keystone_authtoken]: {said}; "
    "if the password is right, the user has no role on the system: run warre-blazar-manage setup",
)
LIMITS_CAFILE = _away(
    "limits_cafile",
    "Keystone's certificate can't be verified with [oslo_limit] cafile ({cafile}): set this "
    "option, or [keystone_authtoken] cafile, to the file with the certificates of the authority "
    "that has signed it",
)


def _refused(reason: str, template: str) -> Entry:
    frame = "{service:noun} refused: {clause}"
    return Entry("service_refused", template, reason, frame=frame)


REFUSAL = _refused("said", "{said}")
NO_AGGREGATE = Entry(
    "service_refused",
    "no aggregate has {keys:names} in its metadata; set it with openstack aggregate set "
    "--property KEY=VALUE AGGREGATE, or leave out the extra spec, or take extra_specs out of "
    "[warre] nova_aggregate_rules if AggregateInstanceExtraSpecsFilter is off",
    "no_aggregate",
    frame="{service:noun} would never find a host: {clause}",
)
MANAGER_FAILED = _refused("manager_failed", "it failed; its log tells why")
NO_PROVIDER = _refused("no_provider", "no resource provider is named {host}")
NO_FREEPOOL = _refused("no_freepool", "it has no aggregate {name}")
CLASS_IN_USE = _refused("class_in_use", "servers use {name} on {host}")
LOGIN = _refused(
    "login",
    "the login in [oslo_limit], by default that of [keystone_authtoken]. Correct the user, the "
    "domain or the password",
)
NO_ROLE = _refused("no_role", "it has no role {role}")
GRANT = _refused(
    "grant",
    "{said} So user {granter} can't give the role {role} on the system to user {user}. Run "
    "'openstack role add --user {user_id} --system all {role}' as an administrator, and then this "
    "command again",
)


def _perhaps(reason: str, template: str) -> Entry:
    """What may have happened although the manager didn't answer."""
    frame = (
        "The reservation manager didn't answer in time, but perhaps {clause}: look before you try "
        "again"
    )
    return Entry("no_answer", template, reason, frame=frame)


OWN_BOOKED = _perhaps("own_booked", "your reservation was booked")
BOOKED = _perhaps("booked", "reservation {reservation} was booked")
CHANGED = _perhaps("changed", "reservation {reservation} has changed")
LABELED = _perhaps("labeled", "reservation {reservation} has its new labels")
OF_SERIES = _perhaps("of_series", "reservations of series {series} were booked or deleted")
DONE = _perhaps("done", "it has done what was asked")

LIMITS_NOT_REGISTERED = Entry(
    "limits_not_registered",
    "The operator has not registered limits for {resources} in Keystone",
)


def _option(reason: str, template: str) -> Entry:
    frame = "{option} is set to a value that can't be used: {clause}"
    return Entry("misconfigured", template, reason, frame=frame)


V1_NEEDED = _option(
    "v1_needed",
    "set it to true, or leave it out, because Blazar loads warre-blazar's API with its v1",
)
LACKS_PLUGIN = _option("lacks_plugin", "it lacks {plugin}, which enables warre-blazar")
ALIASES = _option("aliases", "{alias:said}")
NOT_SET = _option("not_set", "a messenger needs it, and it isn't set")
NO_MESSENGER = _option("no_messenger", "there is no messenger {name}")
NO_FILE = _option("no_file", "there is no file")
FILE_SAID = _option("file_said", "{said}")
NETWORKS = _option("networks", "expected networks such as 10.20.0.0/16")
ONE_LINE = _option("one_line", "expected one line")
ADDRESS = _option("address", "{address:said}")
LOGIN_NEEDS_TLS = _option("login_needs_tls", "a login needs starttls or tls, not none")
