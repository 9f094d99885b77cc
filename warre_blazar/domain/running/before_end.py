"""What is done with the servers of a reservation before they are deleted at its end."""

import dataclasses
import datetime
from typing import Any

from warre_blazar import texts, times
from warre_blazar.errors import exceptions
from warre_blazar.fields.reservations import ReservationFields

NOTHING, SNAPSHOT = "nothing", "snapshot"


@dataclasses.dataclass(frozen=True)
class SiteRule:
    """What the configuration says."""

    #: What is done if neither the reservation nor its flavor says anything.
    default: str = NOTHING
    #: How long before the end it is done.
    ahead: datetime.timedelta = times.BEFORE_END


#: What holds without a configuration.
USUAL = SiteRule()


@dataclasses.dataclass(frozen=True)
class Choice:
    """What somebody has chosen for a reservation. None: what its flavor says."""

    value: str | None


def effective(chosen: str | None, of_flavor: str | None, default: str) -> str:
    """What is done with a reservation's servers.

    :param chosen: what was chosen for the reservation, if anything was.
    :param of_flavor: what the flavor says, if it says anything.
    :param default: what the site's configuration says.
    """
    return chosen or of_flavor or default


def checked(value: Any) -> str | None:
    """Check a choice from a request.

    :raises InvalidField: it is neither None nor one of the words.
    """
    try:
        return None if value is None else ReservationFields.before_end.kind.validate(value)
    except texts.NotValid as error:
        raise exceptions.InvalidField("before_end", error.expected) from error
