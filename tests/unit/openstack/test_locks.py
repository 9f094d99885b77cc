"""Turns of threads: one thread at a time, but no thread waits for its turn forever."""

import threading
import time

import pytest

from warre_blazar import times
from warre_blazar.errors import exceptions
from warre_blazar.openstack.locks import Locks


def test_block_of_a_name_has_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(times, "THREAD_LOCK_WAIT", 600)
    shared = Locks()
    alone, met, together = threading.Lock(), [], threading.Barrier(8)

    def work() -> None:
        together.wait()
        for _ in range(5):
            with shared.held("same"):
                if not alone.acquire(blocking=False):
                    met.append("two in the block")
                    return
                time.sleep(0.001)
                alone.release()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met == []


def test_blocks_of_two_names_can_be_entered_at_once():
    shared = Locks()
    with shared.held("one"), shared.held("two"):
        pass


def test_thread_that_has_waited_too_long_goes_ahead(monkeypatch: pytest.MonkeyPatch):
    shared = Locks()
    monkeypatch.setattr(times, "THREAD_LOCK_WAIT", 0.01)
    entered = threading.Event()

    def work() -> None:
        with shared.held("held"):
            entered.set()

    with shared.held("held"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
        assert entered.is_set()
    # The thread that went ahead hasn't released the other thread's lock.
    with shared.held("held"):
        pass


def test_thread_that_has_waited_too_long_is_refused_if_the_turns_refuse():
    shared = Locks(refused_after=0.01)
    with shared.held("held"), pytest.raises(exceptions.Busy), shared.held("held"):
        pass
    with shared.held("held"):
        pass
