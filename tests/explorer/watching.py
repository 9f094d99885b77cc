"""Points and faults of the scheduler, where the package reaches the database and the services."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests
import sqlalchemy as sa
from requests import adapters
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.orm import Session

from tests.explorer import scheduler
from tests.explorer.faults import Fault, Killed
from tests.explorer.scheduler import Scheduler, Step, Task
from tests.fakes.cloud import Cloud
from tests.fakes.service import Request, Service
from warre_blazar import times

_TABLES = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+[`\"]?(\w+)", re.IGNORECASE)
_CHANGES = re.compile(r"\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+[`\"]?(\w+)", re.IGNORECASE)
#: What the database deletes or changes together with a lease or a reservation.
_CASCADE = {
    "leases": {"reservations", "events", "warre_executions"},
    "reservations": {
        "warre_reservations",
        "instance_reservations",
        "computehost_allocations",
    },
}
_LOCKS = re.compile(r"FOR UPDATE|FOR SHARE|LOCK IN SHARE", re.IGNORECASE)


class Watch:
    """Stands between the package, its database and its cloud.

    :param cloud: its services are called without sockets.
    :param fine: whether each statement of a transaction is a step of its own.
    """

    def __init__(self, cloud: Cloud, *, fine: bool = False) -> None:
        self.fault: Fault | None = None
        self._fine = fine
        self._services = {service.port: service for service in cloud.services}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """A context in which the package's transactions and requests come here."""
        hooks: list[tuple[Any, str, Callable[..., Any]]] = [
            (Session, "after_begin", self._began),
            (Session, "before_commit", self._commits),
            (Session, "after_transaction_end", self._ended),
            (sa.Engine, "before_cursor_execute", self._executes),
            (sa.Engine, "after_cursor_execute", self._executed),
            (sa.Engine, "handle_error", self._failed),
        ]
        for target, name, hook in hooks:
            sa.event.listen(target, name, hook)
        send, commit, watch = adapters.HTTPAdapter.send, DefaultDialect.do_commit, self

        def sent(adapter: Any, request: Any, **_options: Any) -> requests.Response:
            return watch._request(request)

        def commits(dialect: DefaultDialect, connection: Any) -> None:
            commit(dialect, connection)
            watch._committed()

        # A thread that doesn't go on can't give its turn back, and others would wait for it in
        # vain. They may do without it.
        patience, times.THREAD_LOCK_WAIT = times.THREAD_LOCK_WAIT, 0.0
        adapters.HTTPAdapter.send = sent  # type: ignore[method-assign]
        DefaultDialect.do_commit = commits  # type: ignore[assignment,method-assign]
        try:
            yield
        finally:
            times.THREAD_LOCK_WAIT = patience
            adapters.HTTPAdapter.send = send  # type: ignore[method-assign]
            DefaultDialect.do_commit = commit  # type: ignore[method-assign]
            for target, name, hook in hooks:
                sa.event.remove(target, name, hook)

    # Steps.

    def _begin(
        self, here: tuple[Scheduler, Task], what: str, *, is_transaction: bool = False
    ) -> Step:
        control, task = here
        if task.is_dead:
            raise Killed
        step = control.point(task, what)
        step.is_transaction = is_transaction
        step.is_statement = is_transaction and self._fine
        if self.fault:
            self.fault.before(task, step)
        return step

    # Transactions.

    def _began(self, session: Session, _transaction: Any, _connection: Any) -> None:
        here = scheduler.current()
        if here is None or here[1].session is not None:
            return
        self._begin(here, "transaction", is_transaction=True)
        here[1].session = session

    def _executes(
        self, _connection: Any, _cursor: Any, statement: str, values: Any, *_rest: Any
    ) -> None:
        here = scheduler.current()
        if here is None or here[1].session is None:
            return
        step = here[1].steps[-1]
        if self._fine and step.what != "transaction":
            step = self._begin(here, "statement", is_transaction=True)
        changed = _CHANGES.match(statement)
        read = set(_TABLES.findall(statement))
        if changed:
            step.writes |= _changed(changed[1], statement)
        elif _LOCKS.search(statement):
            step.writes |= read
        step.reads |= read
        step.see(statement, values)
        brief = " ".join(statement.split())[:60]
        step.what = brief if step.what in ("transaction", "statement") else step.what
        if changed and not self._fine:
            step.what = brief

        here[1].in_statement = self._fine

    @staticmethod
    def _executed(
        connection: sa.Connection, cursor: Any, statement: str, values: Any, *_rest: Any
    ) -> None:
        here = scheduler.current()
        if here is None:
            return
        here[1].in_statement = False
        if here[1].session is not None:
            is_query = statement.lstrip("( ").upper().startswith(("SELECT", "WITH"))
            answer = _rows(connection, statement, values) if is_query else cursor.rowcount
            here[1].steps[-1].see(answer)

    @staticmethod
    def _failed(_context: Any) -> None:
        here = scheduler.current()
        if here is not None:
            here[1].in_statement = False
            if here[1].session is not None:
                here[1].steps[-1].see("failed")

    def _commits(self, session: Session) -> None:
        here = scheduler.current()
        if here is None or here[1].session is not session:
            return
        if self._fine:
            before = here[1].steps[-1]
            step = self._begin(here, "COMMIT", is_transaction=True)
            step.writes |= before.writes
        if self.fault:
            self.fault.at_commit(here[1].steps[-1])

    def _committed(self) -> None:
        here = scheduler.current()
        if here is not None and here[1].session is not None and self.fault:
            self.fault.after_commit(here[1], here[1].steps[-1])

    @staticmethod
    def _ended(session: Session, transaction: Any) -> None:
        here = scheduler.current()
        if here is not None and here[1].session is session and transaction.parent is None:
            here[1].session = None

    # Requests.

    def _request(self, request: requests.PreparedRequest) -> requests.Response:
        url = urlsplit(request.url or "")
        service = self._services[int(url.port or 0)]
        read = Request(
            request.method or "GET",
            "/" + url.path.lstrip("/"),
            {k: v[0] for k, v in parse_qs(url.query).items()},
            {k.lower(): str(v) for k, v in request.headers.items()},
            json.loads(request.body) if request.body else None,
        )
        here = scheduler.current()
        if here is None:
            return _answered(service, read, request)
        name = type(service).__name__
        is_step = here[1].session is None or self._fine
        step = self._begin(here, f"{name}: {read.line}") if is_step else here[1].steps[-1]
        thing = f"{name}/{_collection(read.path)}"
        (step.reads if read.method == "GET" or "tokens" in thing else step.writes).add(thing)
        step.asks.add(name)
        is_outage = is_step and self.fault is not None and self.fault.is_outage(step)
        answer = _answered(service, read, request, is_outage=is_outage)
        step.see(read.line, read.query, read.body, answer.status_code, answer.content)
        if not is_step:
            return answer
        if self.fault and self.fault.loses_answer(here[1], step):
            raise requests.exceptions.ConnectionError("The answer is lost")
        return answer


def _rows(connection: sa.Connection, statement: str, values: Any) -> list[Any]:
    """The rows of a query. They are read once more, because a cursor gives them only once."""
    driver = connection.connection.driver_connection
    assert driver is not None
    with contextlib.closing(driver.cursor()) as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _changed(table: str, statement: str) -> set[str]:
    """The tables that a statement writes."""
    if not statement.lstrip().upper().startswith("DELETE") or table not in _CASCADE:
        return {table}
    return {table} | {t for below in _CASCADE[table] for t in _changed(below, statement)}


def _collection(path: str) -> str:
    """What a path is about: a kind of objects, such as "flavors"."""
    parts = [part for part in path.split("/") if part and not re.fullmatch(r"v\d(\.\d)?", part)]
    if parts and parts[0] == "resource_providers":
        return "/".join(parts[2:3] or ["resource_providers"])
    return parts[0] if parts else ""


def _answered(
    service: Service,
    read: Request,
    request: requests.PreparedRequest,
    *,
    is_outage: bool = False,
) -> requests.Response:
    fault = service.record(read)
    if fault and fault.drop:
        raise requests.exceptions.ConnectionError("The connection was closed")
    if is_outage:
        answer = service.refuse(503, "the explorer said so")
    elif fault and fault.status:
        answer = service.refuse(fault.status, "the fake said so")
    else:
        answer = service.answer(read)
    response = requests.Response()
    response.status_code = answer.status
    response.headers.update({"Content-Type": "application/json", **answer.headers})
    response._content = b"" if answer.body is None else json.dumps(answer.body).encode()
    response.encoding = "utf-8"
    response.url = request.url or ""
    response.request = request
    return response
