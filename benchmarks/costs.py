"""What an action costs on the dev cloud: SQL statements, requests to services, and logins.

Blazar's managers also ask and write when nothing happens. What they do while nothing happens is
measured once, and subtracted.
"""

import os
import pathlib
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import due

#: The names of MariaDB's counters of statements.
_STATEMENTS = ("Com_select", "Com_insert", "Com_update", "Com_delete")
#: How uWSGI logs a request.
_REQUEST = re.compile(rb"\] (GET|POST|PUT|PATCH|DELETE) (\S+) => generated")
_SERVICES = {"Keystone": "keystone", "Nova": "nova-api", "Placement": "placement"}
_LOGIN = b"/v3/auth/tokens"
_IDLE = 10.0

KINDS = ("SQL statements", *(f"requests to {name}" for name in _SERVICES), "logins")
Cost = dict[str, float]


class Meter:
    """Counts what actions cost."""

    def __init__(self) -> None:
        self._engine = due.database()
        self._logs = pathlib.Path(os.environ["WARRE_DEVCLOUD_HOME"]) / "log"
        begun = time.monotonic()
        self._idle = self._counted(lambda: time.sleep(_IDLE))
        self._idle_seconds = time.monotonic() - begun

    def of(self, action: Callable[[], Any], times: int) -> tuple[Cost, list[Any]]:
        """Carry out an action some times. Return its mean cost by kind, and what it returned."""
        results: list[Any] = []
        begun = time.monotonic()
        counts = self._counted(lambda: results.extend(action() for _ in range(times)))
        share = (time.monotonic() - begun) / self._idle_seconds
        cost = {kind: (counts[kind] - self._idle[kind] * share) / times for kind in KINDS}
        return {kind: max(0.0, value) for kind, value in cost.items()}, results

    def _counted(self, action: Callable[[], object]) -> Counter[str]:
        statements, sizes = self._statements(), self._sizes()
        action()
        time.sleep(0.5)  # uWSGI logs a request after it has answered.
        counts = Counter({"SQL statements": self._statements() - statements})
        for name, service in _SERVICES.items():
            with (self._logs / f"{service}.log").open("rb") as log:
                log.seek(sizes[service])
                found = _REQUEST.findall(log.read())
            counts[f"requests to {name}"] = len(found)
            counts["logins"] += sum(
                method == b"POST" and path.startswith(_LOGIN) for method, path in found
            )
        return counts

    def _statements(self) -> int:
        with self._engine.connect() as db:
            rows = db.exec_driver_sql("SHOW GLOBAL STATUS LIKE 'Com\\_%%'")
            return sum(int(value) for name, value in rows if name in _STATEMENTS)

    def _sizes(self) -> dict[str, int]:
        return {s: (self._logs / f"{s}.log").stat().st_size for s in _SERVICES.values()}
