"""Raises this package's errors as Blazar's exceptions, before they leave the manager."""

import contextlib
from collections.abc import Iterator

from oslo_log import log as logging

from warre_blazar.db import session
from warre_blazar.errors import exceptions
from warre_blazar.errors.blazar_errors import as_blazar

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def translated(*, updating: bool = False) -> Iterator[None]:
    """Raise this package's errors and failures of the database as Blazar exceptions.

    If an error weren't translated, Blazar would leave the lease half changed, and answer the user
    with "Internal Server Error".

    :param updating: the same as for ``as_blazar``.
    """
    try:
        yield
    except exceptions.WarreError as error:
        raise as_blazar(error, updating=updating) from error
    except session.FAILURES as error:
        if session.is_uncarried(error):
            # The API has already checked the reservation's name and note. So ``flavor_id`` is the
            # text that the database's connection can't encode.
            text = exceptions.UncarriedText("flavor_id")
            raise as_blazar(text, updating=updating) from error
        LOG.exception("The database failed")
        away = exceptions.DatabaseUnavailable(error)
        raise as_blazar(away, updating=updating) from error
