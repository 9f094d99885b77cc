"""Injects faults into this process's calls to other services.

An ``Outside`` stands between our clients and the fake services. It gives each call of a step a
name, and lets one of the calls meet a fault.
"""

import collections
import contextlib
import dataclasses
import enum
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from keystoneauth1 import exceptions as ks_exc
from keystoneauth1 import session as ks_session

from tests.fakes.cloud import Cloud

_ID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_CLASS = re.compile(r"CUSTOM_RESERVATION_\w+")
_NUMBER = re.compile(r"/[0-9]+(?=/|$)")


class Fault(enum.StrEnum):
    """A fault that a call meets."""

    BEFORE = "fails before it acts"
    AFTER = "fails after it acted"
    #: The caller times out, and the service carries out the request after that.
    HANGS = "hangs, and acts later"
    KILLED_BEFORE = "killed before it"
    KILLED_AFTER = "killed after it"


class Killed(BaseException):
    """The process is killed. No code of the package may catch this."""


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of a step: the service, the request, and its number among the equal requests."""

    service: str
    what: str
    number: int

    def __str__(self) -> str:
        times = f" ({self.number})" if self.number > 1 else ""
        return f"{self.service}: {self.what}{times}"


class Outside:
    """Records this process's calls to services, and lets one of them fail."""

    def __init__(self, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
        self._names = {
            service.port: type(service).__name__.removeprefix("Identity") or "Keystone"
            for service in cloud.services
        }
        self._lock = threading.Lock()
        self._counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.calls: list[Call] = []
        self._target: Call | None = None
        self._fault = Fault.BEFORE
        self._is_dead = False
        #: The requests that hung services carry out once their callers have timed out.
        self._late: list[Callable[[], Any]] = []
        self._send = ks_session.Session.request
        outside = self

        def request(session: ks_session.Session, url: str, method: str, **kwargs: Any) -> Any:
            return outside._request(session, url, method, kwargs)

        monkeypatch.setattr(ks_session.Session, "request", request)

    @contextlib.contextmanager
    def failing(self, call: Call | None, fault: Fault = Fault.BEFORE) -> Iterator[None]:
        """Let one call meet a fault. Calls are counted from here on."""
        self._counts.clear()
        self.calls = []
        self._target, self._fault = call, fault
        try:
            yield
        finally:
            self._target = None
            self._is_dead = False

    def act_late(self) -> None:
        """Let services that hung carry out the requests that have timed out."""
        late, self._late = self._late, []
        for act in late:
            with contextlib.suppress(ks_exc.ClientException):
                act()

    def _request(
        self, session: ks_session.Session, url: str, method: str, kwargs: dict[str, Any]
    ) -> Any:
        if self._is_dead:
            raise Killed

        def send() -> Any:
            return self._send(session, url, method, **kwargs)

        # The session sends a relative request again, through this method, with its whole URL.
        if not url.startswith("http") and kwargs.get("endpoint_override") is None:
            endpoint = self._endpoint(session, kwargs)
            url_shown = endpoint + url
        else:
            url_shown = (kwargs.get("endpoint_override") or "") + url
        call = self._named(url_shown, method, kwargs)
        if call != self._target:
            return send()
        return self._fail(send)

    @staticmethod
    def _endpoint(session: ks_session.Session, kwargs: dict[str, Any]) -> str:
        wanted = kwargs.get("endpoint_filter") or {}
        return {"compute": "nova", "placement": "placement", "identity": "keystone"}.get(
            wanted.get("service_type", ""), "unknown"
        ) + ":"

    def _fail(self, send: Callable[[], Any]) -> Any:
        fault = self._fault
        if fault in (Fault.AFTER, Fault.KILLED_AFTER):
            with contextlib.suppress(ks_exc.ClientException):
                send()
        if fault in (Fault.KILLED_BEFORE, Fault.KILLED_AFTER):
            self._is_dead = True
            raise Killed
        if fault is Fault.HANGS:
            self._late.append(send)
            raise ks_exc.ConnectTimeout("The fault's doing: no answer in time")
        raise ks_exc.ConnectFailure("The fault's doing: the connection is lost")

    def _named(self, url: str, method: str, kwargs: dict[str, Any]) -> Call:
        service, path = self._split(url)
        path = _NUMBER.sub("/ID", _CLASS.sub("CLASS", _ID.sub("ID", path)))
        body = kwargs.get("json")
        if path.endswith("/action") and isinstance(body, dict):
            path += f" {next(iter(body))}"
        with self._lock:
            self._counts[service, f"{method} {path}"] += 1
            number = self._counts[service, f"{method} {path}"]
            call = Call(service, f"{method} {path}", number)
            self.calls.append(call)
        return call

    def _split(self, url: str) -> tuple[str, str]:
        named = re.fullmatch(r"(nova|placement|keystone|unknown):(.*)", url)
        if named:
            return named[1].capitalize(), named[2].partition("?")[0]
        match = re.fullmatch(r"https?://[^/:]+:([0-9]+)(.*)", url)
        assert match is not None, url
        path = match[2].partition("?")[0]
        return self._names[int(match[1])], re.sub(r"^/v2\.1|^/v3", "", path) or "/"
