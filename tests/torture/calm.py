"""When what was away, and how much undisturbed time something has had."""

import dataclasses
import threading

#: Seconds that everything has after an outage to find its way back: connections, queues, logins.
RECOVERY = 10.0

#: Seconds for what needs Nova, beside the time in which a service was away or recovering.
GRACE = 45.0
#: Seconds after which nothing counts as an excuse any more.
LONGEST = 240.0

#: Without these nothing starts or ends. One manager of two is as good as two, but what the one had
#: claimed the other takes over only when the first has been silent for 20 s.
_NEEDED = ("mariadb", "rabbitmq", "keystone", "nova", "placement", "blazar-manager")
_TAKEN_OVER = 25.0


@dataclasses.dataclass
class Absence:
    """A service that was away, by ``time.time()``."""

    service: str
    way: str
    began: float
    #: None while it is away.
    back: float | None = None

    def __str__(self) -> str:
        return f"{self.service} ({self.way})"


class Absences:
    """All of them, as they happen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Absence] = []

    def begin(self, service: str, way: str, now: float) -> Absence:
        """A service goes."""
        absence = Absence(service, way, now)
        with self._lock:
            self._all.append(absence)
        return absence

    def all(self) -> list[Absence]:
        """Every absence so far."""
        with self._lock:
            return list(self._all)

    def during(self, since: float, until: float) -> list[Absence]:
        """What was away or recovering at some time between."""
        return [
            each
            for each in self.all()
            if each.began < until and (each.back is None or each.back + RECOVERY > since)
        ]

    def calm(self, since: float, until: float) -> float:
        """The seconds between in which everything that is needed was there."""
        disturbed = sorted(
            (max(each.began, since), min(_recovered(each, until), until))
            for each in self.all()
            if each.service.startswith(_NEEDED)
        )
        calm, at = 0.0, since
        for began, recovered in disturbed:
            if recovered > at:
                calm += max(0.0, began - at)
                at = recovered
        return calm + max(0.0, until - at)

    def is_late(self, due: float, now: float) -> bool:
        """Whether what was due has had its time."""
        return now - due > LONGEST or self.calm(due, now) > GRACE


def _recovered(absence: Absence, now: float) -> float:
    back = now if absence.back is None else absence.back
    if absence.service.startswith("blazar-manager"):
        return max(absence.began + _TAKEN_OVER, back)
    return back + RECOVERY
