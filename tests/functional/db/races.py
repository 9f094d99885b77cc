"""Runs jobs at the same time: in threads, and in processes of threads."""

import collections
import contextlib
import dataclasses
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
from oslo_config import cfg

from tests.fakes.cloud import LOGIN_OPTIONS
from tests.functional.db import nodes, own_processes, world
from warre_blazar import conf
from warre_blazar.db import session
from warre_blazar.errors import exceptions
from warre_blazar.services.booking import admission

#: For what hangs. A busy machine takes minutes for what a quiet one does in seconds.
_PATIENCE = 900


def unlock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads race as processes do, without a lock: the generations alone decide."""
    monkeypatch.setattr(session, "claims_lock", contextlib.nullcontext())


@dataclasses.dataclass
class Result:
    """The result of a race: how often each outcome occurred, and how many retries there were."""

    outcomes: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    retries: int = 0

    def __add__(self, other: "Result") -> "Result":
        return Result(self.outcomes + other.outcomes, self.retries + other.retries)


@dataclasses.dataclass(frozen=True)
class Job:
    """A booking for an existing lease.

    Blazar's own transactions aren't retried. Two of them at once fail on SQLite, because they read
    before they write, and sometimes on a Galera cluster.
    """

    lease: world.Lease
    request: admission.BookingRequest
    #: Whether to write what Blazar itself writes, too.
    whole: bool

    def __call__(self) -> None:
        if self.whole:
            world.book(self.request, self.lease)
        else:
            admission.book(self.lease.reservation_id, self.request)


def is_whole(kind: str) -> bool:
    """Whether Blazar's own transactions can run at the same time on this kind of database."""
    return kind != "sqlite" and not nodes.SEVERAL


class _Retries(logging.Handler):
    """Counts the retries that ``session.retried`` logs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += "trying again" in record.getMessage()


def in_threads(jobs: list[Callable[[], None]], start: Callable[[], Any] | None = None) -> Result:
    """Run all jobs at once, each in a thread of its own.

    :param start: called before the threads are released.
    """
    retries = _Retries()
    logger = logging.getLogger(session.__name__)
    level = logger.level
    logger.addHandler(retries)
    logger.setLevel(logging.DEBUG)
    outcomes: list[str] = []
    barrier = threading.Barrier(len(jobs), action=start)
    threads = [threading.Thread(target=_do, args=(job, barrier, outcomes)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    logger.removeHandler(retries)
    logger.setLevel(level)
    return Result(collections.Counter(outcomes), retries.count)


def _do(job: Callable[[], None], barrier: threading.Barrier, outcomes: list[str]) -> None:
    barrier.wait(_PATIENCE)
    try:
        job()
    except exceptions.WarreError as error:
        outcomes.append(error.code)
    except Exception as error:
        outcomes.append(repr(error))
    else:
        outcomes.append("held")


def in_processes(shares: list[list[Job]], url: str, options: dict[str, str]) -> Result:
    """Run each share of jobs in a process of its own, each job in a thread, all at once.

    :param options: the cloud's.
    """
    context = own_processes.context()
    barrier = context.Barrier(len(shares))
    results: Any = context.Queue()
    processes = [
        context.Process(target=_process, args=(share, url, options, barrier, results))
        for share in shares
    ]
    for process in processes:
        process.start()
    try:
        return sum((results.get(timeout=_PATIENCE) for _ in processes), Result())
    finally:
        for process in processes:
            process.join(_PATIENCE)


def configure_process(url: str, options: dict[str, str]) -> None:
    """Give a new process the configuration of its parent's database and cloud.

    :param options: the cloud's.
    """
    nodes.use()
    cfg.CONF([], default_config_files=[])
    conf.register(cfg.CONF)
    cfg.CONF.register_opts(LOGIN_OPTIONS, group="oslo_limit")
    cfg.CONF.set_override("connection", url, group="database")
    for name, value in options.items():
        group, _, option = name.rpartition(".")
        cfg.CONF.set_override(option, value, group or None)
    with session.writer():
        pass  # The facade must be created once, before there are threads.


def _process(
    jobs: list[Job], url: str, options: dict[str, str], barrier: Any, results: Any
) -> None:
    configure_process(url, options)
    results.put(in_threads(list(jobs), lambda: barrier.wait(_PATIENCE)))
