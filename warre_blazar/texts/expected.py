"""What would be valid in a field of a request, in the error ``invalid_field``.

The reason tells the sentences apart. Fields are those of bodies, queries, headers and leases.
"""

from warre_blazar.texts.entries import FIELD, Entry


def _field(reason: str, template: str, also: str = "") -> Entry:
    return Entry("invalid_field", template, reason, also=also, frame=FIELD)


# Bodies and queries as such
UNKNOWN = _field("unknown", "Unknown field.")
UNKNOWN_OF = _field("unknown_of", "Unknown field, expected only {known:names}")
UNKNOWN_IN_SLOT = _field(
    "unknown_in_slot",
    "Unknown field, expected flavor_id and amount, and optionally {optional:names}",
)
UNKNOWN_IN_CHANGE = _field("unknown_in_change", "Unknown field")
MISSING = _field("missing", "Missing data for required field.")
ONE_VALUE = _field("one_value", "expected one value")
JSON_OBJECT = _field("json_object", "expected a JSON object")
LEVELS = _field("levels", "expected at most {levels:number} levels")
UTF8 = _field("utf8", "expected UTF-8")
UNICODE = _field("unicode", "expected Unicode text")
CHARACTER_SET = _field("character_set", "expected the character set UTF-8")
CONTENT_TYPE = _field("content_type", "expected application/json")
NOT_STORABLE = _field("not_storable", "a value can't be stored by this database")
NO_PARAMETERS = _field("no_parameters", "expected no parameters")
SLASH = _field("slash", "expected a path that begins with a slash")
IDEMPOTENCY_KEY = _field("idempotency_key", "expected 1 to 255 visible characters of ASCII")
ETAG = _field("etag", 'expected the ETag of an earlier answer with its quotes, or "*"')

# Kinds of values
WHOLE_NUMBER = _field("whole_number", "expected a whole number of at least {least:number}")
WHOLE_NUMBER_UP_TO = _field(
    "whole_number_up_to", "expected a whole number of at most {most:number}"
)
WHOLE_NUMBER_BETWEEN = _field(
    "whole_number_between", "expected a whole number from {least:number} to {most:number}"
)
#: The nouns of ``TYPE``, by type in JSON Schema.
TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
TYPE = _field("type", "expected {types:nouns}")
MINIMUM = _field("minimum", "expected at least {least:number}")
MAXIMUM = _field("maximum", "expected at most {most:number}")
#: The largest number for what a wait is about.
NUMBER = _field("number", "expected a number")
SMALLER_NUMBER = _field("smaller_number", "expected a smaller number")
GREATER_THAN = _field("greater_than", "expected a number greater than {other}")
HOURS = _field("hours", "expected a number of hours that are whole minutes, such as 24 or 1.5")
BOOLEAN = _field("boolean", "expected true or false")
BOOLEAN_OR_NONE = _field("boolean_or_none", "expected true, false or none")
NOT_EMPTY = _field("not_empty", "expected a string that isn't empty")
SHORTER = _field("shorter", "expected at most {most:number} characters")
SHORTER_STRING = _field("shorter_string", "expected a string of at most {most:number} characters")
LENGTH = _field("length", "expected a text of {least:number} to {most:number} characters")
PRINTABLE = _field("printable", "expected printable text without spaces at its ends")
PRINTABLE_TEXT = _field(
    "printable_text", "expected printable text that neither starts nor ends with a space"
)
PRINTABLE_UP_TO = _field("printable_up_to", "expected 1 to {most:number} printable characters")
PRINTABLE_NAMES = _field(
    "printable_names", "expected names of properties of 1 to {most:number} printable characters"
)
BASIC_PLANE = _field(
    "basic_plane",
    "expected no characters beyond U+FFFF, such as emoji: Blazar's connection to its database "
    "can't carry them unless the operator sets charset=utf8mb4 in its URL",
)
BASIC_PLANE_IN_V1 = _field(
    "basic_plane_in_v1",
    "expected no characters beyond U+FFFF, such as emoji, because Blazar's tables can't store them",
)
FEWER_ENTRIES = _field("fewer_entries", "expected at most {most:number} entries")
UNIQUE_ENTRIES = _field("unique_entries", "expected each entry only once")
WORD = _field("word", "expected {words:or}")
ONE_OF = _field("one_of", "expected one of {known:names}")
SOME_OF = _field("some_of", "expected one or more of {known:names}, separated by commas")
SORT_KEY = _field("sort_key", "expected one of {known:names}, which :asc or :desc may follow")
EMAIL = _field("email", "expected an email address such as alpha@example.org")
PROJECT_ID = _field(
    "project_id",
    "expected the id of a project, which has letters, digits and hyphens; 'openstack project list' "
    "shows it",
)
PROJECT_OF_KEYSTONE = _field(
    "project_of_keystone",
    "expected the id of a project that Keystone has; a member of the project sees it with "
    "'openstack project list'",
)
ANOTHER_PROJECT = _field("another_project", "expected another project than the reservation's")
PROJECT_NEEDED = _field("project_needed", "expected, because the token is for no project")
HANDLE = _field(
    "handle",
    "expected a handle: lower-case letters, digits, periods, hyphens and underscores, with a "
    "letter or a digit at both ends",
)
NO_HANDLE = _field("no_handle", "expected no handle; only reservations of flavor:slot have one")
TIMEZONE = _field("timezone", "expected the name of a time zone such as Europe/Berlin")
WEEKLY_HOURS = _field(
    "weekly_hours",
    "expected hours, times of the week, and a time zone, such as 8h mon-fri 19:00-08:00, sat-sun "
    "Europe/Berlin, in place of {part!r}",
)
LOCAL_TIME = _field(
    "local_time", "expected a local time without an offset, such as 2026-12-01T09:00"
)
DATETIME = _field(
    "datetime", "Not a valid datetime, expected one such as 2026-12-01T09:00:00+00:00."
)
DATETIME_RANGE = _field(
    "datetime_range", "Not a valid datetime, expected one between 1970 and 9000."
)
UUID = _field("uuid", "expected a UUID")
ID_OF_RESERVATION = _field("id_of_reservation", "expected the id of a reservation")
FLAVOR_REF = _field("flavor_ref", "expected the id or name of a flavor")

FLAVOR_NAME = _field(
    "flavor_name",
    "expected printable text without a slash that neither starts nor ends with a space, and isn't "
    '".", ".." or "freeslots"',
)

# Searches
ONLY_WITH = _field("only_with", "expected only with {other}")
WITHOUT = _field("without", "expected without {other}")
WITH = _field("with", "expected only together with {other}")
EITHER = _field("either", "expected either {one} or {other}")
FLAVOR_OR_CATEGORY = _field("flavor_or_category", "expected either a flavor or a category")
AFTER = _field("after", "expected a time after {other}")
FEWER_PARTS = _field("fewer_parts", "expected at most {most:number} days or hours after from")
FEWER_DAYS = _field("fewer_days", "expected at most {most:number} days after from")
CATEGORY = _field("category", "expected the category of a flavor that your project may book")
HOST = _field("host", "expected the name or the id of a host of Blazar's")
NO_HOST = _field("no_host", "Blazar has no such host: {host}")
HOST_IN_SERVICE = _field(
    "host_in_service",
    "Nova says that the compute service of host {host} is {state}, so no server could boot there; "
    "first start it, or run: openstack --os-compute-api-version 2.53 compute service set --enable "
    "--up {service} nova-compute",
)
SEVERAL_HOSTS = _field("several_hosts", "there are several of that name; give the id host: {host}")
HOST_PROPERTIES = _field(
    "host_properties",
    'expected a JSON expression such as ["==", "$gpu", "a100"] or '
    '["and", ["==", ...], [">=", ...]]',
)
HOST_PROPERTIES_JSON = _field(
    "host_properties_json",
    "expected a JSON expression, with double quotes and not single ones, such as "
    '["==", "$gpu", "a100"]',
)
HOST_PROPERTIES_OR = _field(
    "host_properties_or",
    'expected a JSON expression without "or": make a flavor for each of the alternatives',
)
HOST_PROPERTIES_OPERATOR = _field(
    "host_properties_operator",
    "expected a JSON expression with and, {known:names} in place of {operator}",
)
HOST_PROPERTIES_NAME = _field(
    "host_properties_name",
    'expected a JSON expression with the name of a property in place of {value}, such as "$gpu"',
)
HOST_PROPERTIES_TEXT = _field(
    "host_properties_text",
    'expected a JSON expression with a text in place of {value}: "{value}"',
)
HOST_EXPRESSION = _field(
    "host_expression", 'expected an expression about hosts such as ["==", "$vcpus", "8"]'
)

# Flavors and windows
AFTER_START = _field("after_start", "expected a time after the flavor's start")
CLOSED_ITEM = _field(
    "closed_item", "expected a flavor, or a host in host_ids; else the window closes nothing"
)

# Waits
HOURS_AFTER = _field("hours_after", "expected a time at least as many hours after {other}")
FUTURE = _field("future", "expected a time in the future")

# Contacts and webhooks
CONTACT = _field(
    "contact",
    "expected {own:said}; the operator can allow other mail domains ([warre_messages] "
    "contact_domains)",
)
CONTACT_OF_DOMAIN = _field(
    "contact_of_domain", "expected {own:said}, or one that ends with {domains:names}"
)
CONTACT_STOPPED = _field(
    "contact_stopped", "expected {own:said}; the owner of {contact} has stopped messages from here"
)
WEBHOOK = _field(
    "webhook",
    "expected a URL with http or https and the name of a host, such as "
    "https://hooks.example.org/started",
)
WEBHOOK_NOT_ALLOWED = _field(
    "webhook_not_allowed", "expected a URL at a host that the operator allows: {hosts:names}"
)
NO_WEBHOOKS = _field("no_webhooks", "expected no value, because this site calls no webhooks")
OWN_ADDRESS = Entry("own_address", "your own address, {address}", "known")
NO_OWN_ADDRESS = Entry("own_address", "your own address, but Keystone has none for you", "none")
OWN_ADDRESS_UNKNOWN = Entry(
    "own_address", "your own address, which Keystone doesn't tell at the moment", "unknown"
)

# Series
RULE_END = _field(
    "rule_end",
    "expected an end: add COUNT (how many times) or UNTIL (the last day), as in {rule};COUNT=12",
)
RULE_TOO_MANY = _field("rule_too_many", "expected at most {most:number} occurrences")
RULE_TOO_LONG = _field("rule_too_long", "expected an end within {years:number} years")
RULE_TOO_CLOSE = _field("rule_too_close", "expected occurrences that start at least an hour apart")
RULE_ONE_END = _field("rule_one_end", "expected either COUNT or UNTIL")
RULE_COUNT = _field("rule_count", "expected a COUNT from 1 to {most:number}")
RULE_UNTIL = _field("rule_until", "expected an UNTIL such as 20261231 or 20261231T230000Z")
RULE = _field("rule", "expected a rule as in RFC 5545")
RULE_ASCII = _field("rule_ascii", "expected a rule as in RFC 5545, in ASCII")
RULE_FREQ = _field("rule_freq", "expected a FREQ, as in FREQ=WEEKLY;COUNT=10")
RULE_FREQ_OF = _field("rule_freq_of", "expected a FREQ of {known:names}")
RULE_PARTS = _field("rule_parts", "expected {part} once, with a value, as in FREQ=WEEKLY;COUNT=10")
RULE_NO_PART = _field(
    "rule_no_part",
    "expected no {part}: a rule has {known:names}. DTSTART and EXDATE may stand beside it; make "
    "another series for further days",
)
RULE_OTHER_START = _field(
    "rule_other_start",
    "expected the DTSTART {start} in the time zone {timezone}, which is the start, or no DTSTART",
)
RULE_EXDATE = _field(
    "rule_exdate", "expected dates such as 20261224, or times such as 20261224T090000"
)
EXCEPTED_TIME = _field("excepted_time", "expected a day such as 2026-12-24")
RULE_ALL_LEFT_OUT = _field("rule_all_left_out", "expected a day that isn't left out")
RULE_INTERVAL = _field("rule_interval", "expected an INTERVAL from 1 to 9999")
RULE_START = _field("rule_start", "expected a start of the rule, such as {first}")
RULE_NO_START = _field("rule_no_start", "expected a rule that takes place")
RULE_YEAR = _field("rule_year", "expected a time before the year 9000")
MORE_OCCURRENCES = _field("more_occurrences", "expected at most {most:number} occurrences in all")
MISSING_OCCURRENCES = _field(
    "missing_occurrences",
    "expected a series of which something is missing; of this one, nothing is missing that hasn't"
    " begun",
)
LEFT_OCCURRENCES = _field("left_occurrences", "expected occurrences that the rule still has")

# Leases over v1
NO_SUCH_FIELD = _field("no_such_field", "expected no such field")
SET_BY_BLAZAR = _field("set_by_blazar", "expected no such field, because Blazar sets it itself")
NO_VALUE = _field("no_value", "expected no value")
OWN_LEASE = _field("own_lease", "expected no value: a lease belongs to the user who creates it")
LEASE_TIME = _field("lease_time", "expected a time as YYYY-MM-DD HH:MM")
LEASE_TIME_UTC = _field("lease_time_utc", 'expected a time in UTC such as "2026-12-01 09:00"')
REAL_TIME = _field("real_time", "expected a day and time that exist")
BEFORE_END_DATE = _field("before_end_date", "expected a time between the lease's start and its end")
OBJECTS = _field("objects", "expected a list of objects")
RESERVATIONS = _field("reservations", "expected a list of reservations")
SOME_RESERVATIONS = _field("some_reservations", "expected a list of at least one reservation")
EMPTY_LIST = _field("empty_list", "expected an empty list")
RESERVATION_ONCE = _field("reservation_once", "expected each reservation at most once")
INSTANCE_FIELDS = _field(
    "instance_fields",
    "expected amount, vcpus, memory_mb, disk_gb, affinity and resource_properties",
)
RESERVATION_OBJECT = _field(
    "reservation_object", "expected an object with {required}, of at most {most:number} keys"
)
HOST_REF = _field(
    "host_ref", "expected the name or id of a host, of at most 255 letters, digits and _.:-"
)
PROPERTY_VALUE = _field(
    "property_value",
    "expected a text of at most {most:number} characters, a number, true, false or null",
)
