"""The limits of projects in Keystone, as several threads read them."""

import contextlib
import threading
from concurrent import futures

import pytest
from oslo_config import fixture as config_fixture

from tests.fakes.cloud import Cloud
from tests.fakes.service import Request
from warre_blazar import times
from warre_blazar.domain.booking.quota import Amount
from warre_blazar.errors import exceptions
from warre_blazar.openstack import limits
from warre_blazar.openstack.locks import Locks

_PROJECT = "project-alpha"
_THREADS = 8


def test_endpoint_is_found_by_service_type_and_region(cloud: Cloud, conf: config_fixture.Config):
    by_name = {
        "endpoint_id": None,
        "endpoint_service_type": "reservation",
        "endpoint_region_name": "RegionOne",
        "endpoint_interface": "public",
    }
    conf.config(group="oslo_limit", **by_name)
    cloud.keystone.limits = {(_PROJECT, "hours"): 20}
    assert limits.of_project(_PROJECT) == Amount(1000, 20)


class Arrivals(Locks):
    """Turns that tell when all threads have asked for theirs."""

    def __init__(self) -> None:
        super().__init__()
        self._missing = threading.Semaphore(_THREADS - 1)
        self.complete = threading.Event()

    def held(self, name: str) -> contextlib.AbstractContextManager[None]:
        if not self._missing.acquire(blocking=False):
            self.complete.set()
        return super().held(name)


def test_one_of_several_threads_asks_keystone_for_all(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    cloud.keystone.limits = {(_PROJECT, "reservation"): 3, (_PROJECT, "hours"): 20}
    limits.of_project(_PROJECT)  # Logs in.
    asked, arrivals = [], Arrivals()
    monkeypatch.setattr(limits, "_locks", arrivals)
    monkeypatch.setattr(times, "THREAD_LOCK_WAIT", 60)

    def note(request: Request) -> None:
        asked.append(request.line)
        assert arrivals.complete.wait(60)

    cloud.keystone.fail(match="limits", then=note)
    with futures.ThreadPoolExecutor(_THREADS) as pool:
        answers = pool.map(lambda _: limits.of_project(_PROJECT), range(_THREADS))
        assert set(answers) == {Amount(3, 20)}
    # The first thread asks for the registered limits and for the project's. What it began to read
    # before the others came isn't new enough for them, so one of them asks once more.
    assert 2 <= len(asked) <= 4


def test_keystone_that_fails_at_the_first_question_counts_as_unavailable(cloud: Cloud):
    """oslo.limit takes the body of a failure for the enforcement model."""
    cloud.keystone.fail(match="limits/model", status=503)
    with pytest.raises(exceptions.ServiceUnavailable):
        limits.of_project(_PROJECT)
    cloud.mend()
    assert limits.of_project(_PROJECT) == Amount(1000, 100000)
