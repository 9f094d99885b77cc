"""Tells in the log when a search for devices has given up."""

import contextlib
from collections.abc import Iterator

from oslo_log import log as logging

from warre_blazar.domain.hosts import provider_search

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
