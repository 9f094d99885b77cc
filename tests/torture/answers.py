"""Requests and what is remembered of their answers."""

import dataclasses
import json
import re
import threading
import time
from collections import Counter, defaultdict
from typing import Any

import requests
import urllib3

from tests.torture.calm import Absences

_IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
#: Seconds for a login.
_LOGIN = 20.0
_CONNECT = 5.0


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer, or that there was none: the status is 0 then, and the code says why."""

    status: int
    document: Any
    code: str
    #: The header Retry-After.
    retry_after: str | None = None

    @property
    def is_refusal(self) -> bool:
        """Whether nothing can have changed."""
        return 400 <= self.status < 500

    @property
    def is_success(self) -> bool:
        """Whether it was answered as done."""
        return self.status in (200, 201, 204)


class Answers:
    """What was answered, by kind, way and answer; and which services were away at each 5xx."""

    def __init__(self, absences: Absences) -> None:
        self._absences = absences
        self._lock = threading.Lock()
        self.by_operation: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.errors: dict[str, Counter[str]] = defaultdict(Counter)
        #: Answers that nobody may get whatever is away: by key, as sentences.
        self.wrong: dict[str, str] = {}
        #: Errors of the server that don't say when to try again.
        self.helpless: Counter[str] = Counter()

    def add(self, kind: str, way: str, answer: Answer, began: float) -> None:
        """An operation of some kind, begun some time ago, is answered."""
        name = f"{answer.status or 'none'} {answer.code}".strip()
        with self._lock:
            self.by_operation[kind, way][name] += 1
            if answer.status >= 500 and (answer.status != 503 or answer.retry_after is None):
                self.helpless[f"{way}: {name}"] += 1
            if answer.status >= 500 or answer.status == 0:
                away = self._absences.during(began, time.time())
                cause = ", ".join(sorted({str(each) for each in away})) or "nothing was away"
                self.errors[f"{way}: {name}"][cause] += 1

    def add_wrong(self, key: str, text: str) -> None:
        """An answer that is a violation by itself."""
        with self._lock:
            self.wrong.setdefault(key, text)


class Http:
    """Requests of one user with a token of its own."""

    def __init__(self, auth_url: str, user: str, project: str, password: str) -> None:
        """
        :param user, project: names in the default domain.
        """
        self._auth_url = auth_url
        default = {"id": "default"}
        self._login = {
            "auth": {
                "identity": {
                    "methods": ["password"],
                    "password": {"user": {"name": user, "domain": default, "password": password}},
                },
                "scope": {"project": {"name": project, "domain": default}},
            }
        }
        self._token = ""

    def ask(self, method: str, url: str, body: Any, patience: float) -> Answer:
        """Send a request.

        :param body: a document, bytes as they are, or None.
        :param patience: seconds to wait for an answer.
        """
        if not self._token and not self._log_in():
            return Answer(0, None, "not sent: no token")
        data = body if isinstance(body, bytes | None) else json.dumps(body)
        headers = {
            "X-Auth-Token": self._token,
            "Content-Type": "application/json",
            # The first one in which a server needs no network.
            "OpenStack-API-Version": "compute 2.37",
        }
        try:
            found = requests.request(
                method, url, data=data, headers=headers, timeout=(_CONNECT, patience)
            )
        except requests.exceptions.ConnectTimeout:
            return Answer(0, None, "no connection")
        except requests.exceptions.Timeout:
            return Answer(0, None, "gave up waiting")
        except requests.exceptions.ConnectionError as error:
            return Answer(0, None, "no connection" if _is_refused(error) else "connection lost")
        except requests.exceptions.RequestException:
            return Answer(0, None, "connection lost")
        if found.status_code == 401:
            self._token = ""
        return _read(found)

    def _log_in(self) -> bool:
        try:
            found = requests.post(f"{self._auth_url}/auth/tokens", json=self._login, timeout=_LOGIN)
        except requests.exceptions.RequestException:
            return False
        self._token = found.headers.get("X-Subject-Token", "")
        return bool(self._token)


def _is_refused(error: requests.exceptions.ConnectionError) -> bool:
    """Whether nobody listened, so that nothing was sent."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(reason, urllib3.exceptions.NewConnectionError)


def _read(found: requests.Response) -> Answer:
    retry_after = found.headers.get("Retry-After")
    try:
        document = found.json() if found.content else None
    except ValueError:
        return Answer(found.status_code, None, "no JSON", retry_after)
    return Answer(found.status_code, document, _code(document), retry_after)


def _code(document: Any) -> str:
    """The code of an error, or the first words of Blazar's, whose errors have none."""
    if not isinstance(document, dict):
        return ""
    words = _IDS.sub("ID", str(document.get("error_message", ""))).split()
    return str(document.get("code") or " ".join(words[:5]))
