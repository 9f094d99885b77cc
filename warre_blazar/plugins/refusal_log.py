"""Keeps refusals out of the log of errors.

Blazar and oslo.messaging log every exception of a request at ERROR, most with a traceback. But a
refusal by this package's rules is a usual answer. It gets one line at INFO. The line's context
names the request, the user and the project.
"""

import logging
import sys

from warre_blazar.errors import blazar_errors, statuses

#: Blazar's loggers. Blazar raises what they have logged, so that oslo.messaging logs it once more.
_BLAZARS = ("blazar.manager.service", "blazar.status")
_LAST = "oslo_messaging.rpc.server"


class _Refusals(logging.Filter):
    """Lets everything pass that isn't about a refusal."""

    def __init__(self, is_last: bool) -> None:
        """
        :param is_last: whether nobody else logs the refusal. Then it is shortened, else left out.
        """
        super().__init__()
        self._is_last = is_last

    def filter(self, record: logging.LogRecord) -> bool:
        error = sys.exception()
        code = _refused_with(error)
        if code is None or record.levelno < logging.ERROR:
            return True
        record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
        record.msg, record.args = "Refused (%s): %s", (code, error)
        record.exc_info = record.exc_text = None
        return self._is_last


_FILTERS = {**{name: _Refusals(False) for name in _BLAZARS}, _LAST: _Refusals(True)}


def register() -> None:
    """Begin to filter what is logged in this process."""
    for name, each in _FILTERS.items():
        logging.getLogger(name).addFilter(each)


def _refused_with(error: BaseException | None) -> str | None:
    """The code of this package's error, if the exception carries one that isn't a fault."""
    code = blazar_errors.code_of(error)
    if code is None:
        return None
    return code if statuses.in_manager(code, updating=False) < 500 else None
