"""A manager that is stopped finishes the requests that it has received."""

import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import oslo_messaging as messaging
import pytest
from blazar import context, manager, rpc
from blazar.manager import service
from blazar.utils import service as service_utils
from oslo_config import cfg

from warre_blazar.plugins import graceful_stop

#: More requests than the manager works on at a time.
_REQUESTS = 3


class Manager(service.ManagerService):
    """Blazar's manager with one worker and without plugins. Its requests wait until it stops."""

    def __init__(self) -> None:
        service_utils.RPCServer.__init__(self, manager.get_service_target())
        self.working = threading.Event()
        self.does_not_listen = threading.Event()
        self.finished: list[int] = []

    def begin(self) -> None:
        self._server.start(override_pool_size=1)

    def received(self) -> int:
        """The number of requests that have been taken from the queue and aren't answered yet."""
        return self._server._work_executor._work_queue.qsize() + self.working.is_set()

    def work(self, number: int) -> int:
        self.working.set()
        assert self.does_not_listen.wait(60)
        self.finished.append(number)
        return number


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A transport of kombu, which has the listener of RabbitMQ's driver."""
    cfg.CONF([], project="blazar")
    made = messaging.get_rpc_transport(cfg.CONF, url="kombu+memory:///")
    monkeypatch.setattr(rpc, "TRANSPORT", made)
    yield made
    made.cleanup()
    cfg.CONF.reset()


@pytest.fixture
def running(transport: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    monkeypatch.setattr(service.ManagerService, "stop", service.ManagerService.stop)
    graceful_stop.register()
    made = Manager()
    stop = made._server.stop

    def stop_listening() -> None:
        stop()
        made.does_not_listen.set()

    monkeypatch.setattr(made._server, "stop", stop_listening)
    made.begin()
    yield made
    # A manager that goes on listening would write into the logs of other tests.
    made.stop()


def call(number: int) -> int:
    # Not Blazar's own client, which this package changes in processes that serve the API.
    client = rpc.get_client(manager.get_target())
    return int(client.call(context.BlazarContext().to_dict(), "work", number=number))


def test_manager_answers_what_it_has_received_before_it_stops(running: Manager) -> None:
    with futures.ThreadPoolExecutor(_REQUESTS) as pool:
        answers = [pool.submit(call, number) for number in range(_REQUESTS)]
        everything = threading.Event()
        while running.received() < _REQUESTS:
            # If a call fails before the manager stops, the test fails with the call's error.
            failed = [answer.exception() for answer in answers if answer.done()]
            assert failed == []
            everything.wait(0.05)
        running.stop()
        assert sorted(running.finished) == list(range(_REQUESTS))
        assert [answer.result() for answer in answers] == list(range(_REQUESTS))


def test_request_that_comes_while_a_manager_stops_is_left_to_the_next(running: Manager) -> None:
    running.stop()
    with futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(call, 7)
        following = Manager()
        following.does_not_listen.set()
        following.begin()
        assert answer.result() == 7
        following.stop()
    assert (running.finished, following.finished) == ([], [7])


def test_stop_is_wrapped_once(running: Manager) -> None:
    stop: Any = service.ManagerService.stop
    graceful_stop.register()
    assert service.ManagerService.stop is stop
