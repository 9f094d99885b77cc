"""oslo.messaging's transport within a process, without polling and without real timeouts.

The stock driver looks for messages every 50 ms, and a call that nobody answers ends after some
seconds. Here a listener wakes up when a message arrives, and tests say when callers give up.
"""

import collections
import contextlib
import queue
import threading
from collections.abc import Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_messaging._drivers import base, impl_fake
from oslo_messaging._drivers import common as driver_common

from warre_blazar.openstack import manager

#: Notified when a message arrives, when a call is answered, and when a listener stops.
_changed = threading.Condition()
#: The calls that the manager hasn't answered yet.
_calls: set["_Call"] = set()
_GIVEN_UP = (None, None, True)

#: The last failures as they were on the manager's side, newest last.
failures: collections.deque[BaseException] = collections.deque(maxlen=1000)


class _Call:
    """A call of the manager. It is the queue into which the driver puts the answer."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._answers: queue.Queue[tuple[Any, BaseException | None, bool]] = queue.Queue()

    def put(self, answer: tuple[Any, BaseException | None]) -> None:
        with _changed:
            _calls.discard(self)
            _changed.notify_all()
        self._answers.put((*answer, False))

    def give_up(self) -> None:
        self._answers.put(_GIVEN_UP)

    def result(self, timeout: float | None) -> Any:
        try:
            reply, failure, given_up = self._answers.get(timeout=timeout)
        except queue.Empty:
            given_up = True
        if given_up:
            raise oslo_messaging.MessagingTimeout(f"No reply on topic {self._topic}")
        if failure:
            raise failure
        return reply


class _Message(impl_fake.FakeIncomingMessage):
    """A message that carries failures like a real message bus: as JSON, rebuilt if allowed."""

    def reply(self, reply: Any = None, failure: Any = None) -> None:
        if failure:
            failures.append(failure[1])
            text = driver_common.serialize_remote_exception(failure)
            rebuilt = driver_common.deserialize_remote_exception(text, manager._MODULES)
            failure = (type(rebuilt), rebuilt, None)
        super().reply(reply, failure)


class _Exchange(impl_fake.FakeExchange):
    def deliver_message(self, *args: Any, **kwargs: Any) -> None:
        super().deliver_message(*args, **kwargs)
        with _changed:
            _changed.notify_all()


class _Listener(impl_fake.FakeListener):
    @base.batch_poll_helper
    def poll(self, timeout: float | None = None) -> Any:
        with _changed:
            while not self._stopped.is_set():
                for target in self._targets:
                    exchange = self._exchange_manager.get_exchange(target.exchange)
                    ctxt, message, reply_q, requeue = exchange.poll(target, self._pool)
                    if message is not None:
                        return _Message(ctxt, message, reply_q, requeue)
                if not _changed.wait(timeout):
                    break
        return None

    def stop(self) -> None:
        super().stop()
        with _changed:
            _changed.notify_all()


class _Driver(impl_fake.FakeDriver):
    #: Whether no manager listens. Calls are lost then, and their callers give up at once.
    deaf = False

    def _send(
        self,
        target: oslo_messaging.Target,
        ctxt: Any,
        message: Any,
        wait_for_reply: bool | None = None,
        timeout: float | None = None,
        transport_options: Any = None,
    ) -> Any:
        if not wait_for_reply:
            return super()._send(target, ctxt, message)
        self._check_serialize(message)
        call = _Call(target.topic)
        if self.deaf:
            call.give_up()
            return call.result(timeout)
        _calls.add(call)
        exchange = self._exchange_manager.get_exchange(target.exchange)
        exchange.deliver_message(target.topic, ctxt, message, server=target.server, reply_q=call)
        return call.result(timeout)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """A context in which the transport ``fake://`` is the one of this module."""
    ours = {"FakeExchange": _Exchange, "FakeListener": _Listener, "FakeDriver": _Driver}
    theirs = {name: getattr(impl_fake, name) for name in ours}
    for name, replacement in ours.items():
        setattr(impl_fake, name, replacement)
    try:
        yield
    finally:
        impl_fake.FakeExchangeManager.cleanup()
        for name, original in theirs.items():
            setattr(impl_fake, name, original)


@contextlib.contextmanager
def without_listener() -> Iterator[None]:
    """A context in which calls are lost, as if no manager was there."""
    _Driver.deaf = True
    try:
        yield
    finally:
        _Driver.deaf = False


def give_up() -> None:
    """Let all callers that wait for an answer give up, as if their time was up."""
    with _changed:
        waiting = list(_calls)
    for call in waiting:
        call.give_up()


def held(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> Iterator[threading.Event]:
    """Until the event is set, a function waits when it is called, and the API gives up waiting."""
    event, function = threading.Event(), getattr(module, name)

    def wait(argument: Any) -> Any:
        if not event.is_set():
            give_up()
            event.wait(30)
        return function(argument)

    monkeypatch.setattr(module, name, wait)
    yield event
    event.set()


def settle() -> None:
    """Wait until the manager has answered all calls, also those whose callers have given up."""
    with _changed:
        assert _changed.wait_for(lambda: not _calls, 60), "the manager doesn't answer"
