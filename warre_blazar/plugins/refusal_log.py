"""Keeps refusals out of the log of errors.

Blazar and oslo.messaging log every exception of a request at ERROR, most with a traceback. But a
refusal, be it by a rule of this package or of Blazar, is a usual answer. It gets one line at INFO.
The line's context names the request, the user and the project.
"""

import logging
import sys

from blazar import exceptions as blazar_exc
from blazar.db import exceptions as blazar_db_exc
from blazar.manager import exceptions as manager_exc

from warre_blazar.db import session
from warre_blazar.errors import blazar_errors, statuses
from warre_blazar.plugins import lost_leases

#: Blazar's refusals whose classes have the status 500.
_REFUSALS = (
    blazar_exc.InvalidStatus,
    blazar_db_exc.BlazarDBDuplicateEntry,
    manager_exc.NotEnoughHostsAvailable,
    manager_exc.UnsupportedResourceType,
)
#: The methods of Blazar's manager that clients call. What happens to a lease in other methods, such
#: as its start, is refused to nobody.
_METHODS = ("create_lease", "update_lease", "delete_lease")


class _Manager(logging.Filter):
    """Drops what Blazar's manager logs about refusals. The last logger logs them too."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.funcName not in _METHODS or _refusal(sys.exception()) is None


class _Status(logging.Filter):
    """Drops what Blazar's wrapper of leases' statuses logs about refusals."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            return True
        if "ERROR status" not in record.msg:
            return _refusal(sys.exception()) is None
        # This costs somebody a lease, unless somebody else has deleted the lease meanwhile.
        return not (isinstance(record.args, tuple) and lost_leases.is_lost(str(record.args[0])))


class _Last(logging.Filter):
    """Shortens what is logged about a refusal, by loggers after which nobody logs it again."""

    def filter(self, record: logging.LogRecord) -> bool:
        refused = _refusal(error := sys.exception())
        if refused is not None:
            record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
            record.msg, record.args = "Refused (%s): %s", (refused, error)
            record.exc_info = record.exc_text = None
        return True


_FILTERS: dict[str, logging.Filter] = {
    "blazar.manager.service": _Manager(),
    "blazar.status": _Status(),
    "oslo_messaging.rpc.server": _Last(),
}


def register() -> None:
    """Begin to filter what is logged in this process."""
    for name, each in _FILTERS.items():
        logging.getLogger(name).addFilter(each)
    session.keep_uncarried_texts_out_of_the_log()


def _refusal(error: BaseException | None) -> str | None:
    """The code or the class of an error that isn't a fault, or None if there is no such error."""
    code = blazar_errors.code_of(error)
    if code is not None:
        return code if statuses.in_manager(code, updating=False) < 500 else None
    is_refusal = isinstance(error, _REFUSALS) or (
        isinstance(error, blazar_exc.BlazarException) and error.code < 500
    )
    return type(error).__name__ if is_refusal else None
