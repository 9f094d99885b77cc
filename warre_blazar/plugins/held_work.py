"""Holds Blazar's own work in a manager whose database is older than Placement.

Leases of all types are held, since those of stock types are in the same database.
"""

from collections.abc import Callable
from typing import Any

from blazar.manager import service
from blazar.monitor import base as monitors

from warre_blazar import texts, times
from warre_blazar.errors import exceptions
from warre_blazar.plugins import error_translation
from warre_blazar.plugins.wrapping import wrap
from warre_blazar.services.running import mark

_Function = Callable[..., Any]


def register() -> None:
    """Hold Blazar's work in the manager of this process as long as its gate is closed."""
    wrap(
        __name__,
        service.ManagerService,
        start=_begun,
        _process_events=_skipped,
        create_lease=_refused,
        update_lease=_refused,
        delete_lease=_refused,
    )
    wrap(__name__, monitors.BaseMonitor, call_monitor_plugin=_skipped)


def _begun(method: _Function) -> _Function:
    def start(self: Any) -> Any:
        mark.gate.begin()
        return method(self)

    return start


def _skipped(method: _Function) -> _Function:
    def work(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *args, **kwargs) if mark.gate.is_open else None

    return work


def _refused(method: _Function) -> _Function:
    def work(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not mark.gate.opens_within(times.GATE_WAITED_FOR):
            with error_translation.translated():
                raise exceptions.ServiceUnavailable(
                    "The reservation manager", texts.services.HELD()
                )
        return method(self, *args, **kwargs)

    return work
