"""Writes down which requests were refused, and lists them."""

import contextlib
from collections.abc import Iterator

from oslo_log import log as logging
from oslo_utils import timeutils

from warre_blazar.db import refusals, session
from warre_blazar.db.refusals import RefusalFilter
from warre_blazar.domain.refusals import Asked, Refusal, counted_code
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def recorded(asked: Asked, most: int) -> Iterator[None]:
    """Write down the request if a rule refuses it within the block.

    :param most: the number of requests of one project and day that are kept.
    """
    try:
        yield
    except exceptions.WarreError as error:
        write(asked, error.code, most)
        raise


def write(asked: Asked, code: str, most: int) -> None:
    """Write down a request that was refused, in a transaction of its own.

    Nothing is written if the code is of another kind of error. If the database fails, the request
    is only logged, because its answer must not change.

    :param most: as for ``recorded``.
    """
    counted = counted_code(code)
    if counted is None:
        return
    try:
        session.change(refusals.add, asked, counted, timeutils.utcnow(), most)
    except (exceptions.TryAgain, *session.FAILURES) as error:
        LOG.warning("A refused request of project %s isn't noted: %s", asked.project_id, error)


def listing(wanted: RefusalFilter, limit: int | None, offset: int) -> tuple[list[Refusal], int]:
    """A page of the requests that were refused, the latest first, and the number of all."""
    with session.reader() as db:
        return refusals.listing(db, wanted, limit, offset)
