"""The limits of projects in Keystone, as several threads read them."""

import threading
from concurrent import futures

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from warre_blazar.clients import limits
from warre_blazar.domain.quota import Amount

_PROJECT = "project-alpha"
_THREADS = 8


def test_one_of_several_threads_asks_keystone_for_all(cloud: Cloud):
    cloud.keystone.limits = {(_PROJECT, "reservation"): 3, (_PROJECT, "hours"): 20}
    limits.of_project(_PROJECT)  # Logs in.
    asked, all_wait = [], threading.Event()

    def note(request: Request) -> None:
        asked.append(request.line)
        all_wait.wait(0.3)

    cloud.keystone.fail(match="limits", then=note)
    together = threading.Barrier(_THREADS)

    def ask(_: int) -> Amount:
        together.wait()
        return limits.of_project(_PROJECT)

    with futures.ThreadPoolExecutor(_THREADS) as pool:
        assert set(pool.map(ask, range(_THREADS))) == {Amount(3, 20)}
    # The first thread asks for the registered limits and for the project's. What it began to read
    # before the others came isn't new enough for them, so one of them asks once more.
    assert 2 <= len(asked) <= 4
