"""Runs searches without garbage collection, and logs those that gave up."""

import contextlib
import gc
from collections.abc import Iterator

from oslo_log import log as logging

from warre_blazar.domain.hosts import provider_search


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Suspend the garbage collector while the caller reads thousands of objects and keeps them all.

    A running collector would search these objects for garbage again and again. The caller would
    take about a quarter longer. The garbage of other threads is collected afterwards.

    Python has one garbage collector for the whole process, so it can't be suspended for one thread
    alone.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def logged(asked: str) -> Iterator[None]:
    """Bound all searches for devices in the context together, and log how many have given up.

    :param asked: what is looked for, for the log.
    """
    with provider_search.bounded() as allowance:
        yield
    if allowance.given_up:
        LOG.warning(
            "%d searches for devices gave up after %d states, so there may be room for more: %s",
            allowance.given_up,
            provider_search.MOST_STATES_IN_ALL,
            asked,
        )
