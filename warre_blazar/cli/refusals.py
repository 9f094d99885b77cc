"""The command that lists refused requests."""

from warre_blazar.cli import listing, owners


class ListRefusals(listing.ListObjects):
    """List requests to book or to change a reservation that a rule has refused.

    The latest is listed first. The operator decides how long requests are kept, and how many of
    each day.
    """

    noun = "refused request"
    nouns = "refused requests"
    collection = "refusals"
    columns = (
        *("at", "code", "flavor", "instance_count", "start", "end", "reservation_id"),
        *owners.COLUMNS,
    )
    filters = (
        listing.projects("list refused requests"),
        listing.user("only requests of this user"),
        listing.flavor("only requests of this flavor"),
        listing.option(
            "--code",
            "only requests that were refused with this code, such as slots_exhausted",
            metavar="CODE",
        ),
        listing.period(
            "only requests that were refused from this time on",
            "only requests that were refused before this time",
        ),
        listing.limit("list only the latest N"),
    )
