"""The judge of the campaign: which answers nobody may get, and how much memory may grow."""

import dataclasses
import threading
from collections import Counter
from collections.abc import Mapping

from tests.torture.answers import Answer
from tests.torture.members import Request

#: Seconds after a kill of a manager in which a request may be answered with 503.
RECOVERY = 30.0
#: By how much the memory of a service may grow in the second half of the requests.
GROWTH = 0.1
#: With fewer requests in all, processes still load what they keep.
JUDGED_FROM = 20_000
#: Of the failures that are alike, how many are printed.
_SHOWN = 3


@dataclasses.dataclass(frozen=True)
class Process:
    """A process, which no other process has been."""

    service: str
    pid: int
    started: int


class Verdicts:
    """What was answered, and what of it is wrong. Times are those of ``time.time()``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kills: list[float] = []
        self.answers: Counter[tuple[str, int]] = Counter()
        #: The failures by what is wrong.
        self.failures: dict[str, list[str]] = {}

    def killed(self, now: float) -> None:
        """A manager was killed."""
        with self._lock:
            self._kills.append(now)

    @property
    def kills(self) -> int:
        """How often a manager was killed."""
        return len(self._kills)

    def judge(self, request: Request, answer: Answer, began: float, ended: float) -> None:
        """Count an answer, and remember it if it is wrong."""
        with self._lock:
            self.answers[family(request.path), answer.status] += 1
            wrong = self._wrong(answer, began, ended)
            if wrong:
                text = f"{request}: {answer.status} {answer.code} after {ended - began:.1f} s"
                self.failures.setdefault(wrong, []).append(text)

    def _wrong(self, answer: Answer, began: float, ended: float) -> str:
        if answer.status == 0:
            return f"no answer: {answer.code}"
        if answer.status != 503:
            return f"status {answer.status}" if answer.status >= 500 else ""
        if not (answer.retry_after or "").isdigit():
            return "503 without Retry-After"
        is_excused = any(began <= kill + RECOVERY and kill <= ended for kill in self._kills)
        return "" if is_excused else f"503 without a kill in the {RECOVERY:.0f} s before"

    def judge_memory(
        self, half: Mapping[Process, int], end: Mapping[Process, int], requests: int
    ) -> list[str]:
        """Judge how the memory of each service has grown over the second half of the requests.

        The processes of a service are judged together, because they share requests unevenly. In
        the first half, one of two processes of an API got 60 % more requests than the other, which
        loaded in the second half what the first one had already.

        :param half: the bytes of each process after half of the requests.
        :param end: the bytes of each process at the end.
        :param requests: the number of all requests.
        :returns: a line for each service with processes that lived over the whole second half.
        """
        lived = [process for process in half if process in end]
        lines = []
        for service in sorted({process.service for process in lived}):
            these = [process for process in lived if process.service == service]
            before = sum(half[process] for process in these)
            after = sum(end[process] for process in these)
            growth = (after - before) / before
            line = (
                f"{service}, {len(these)} processes: {before >> 20} MiB after half, "
                f"{after >> 20} MiB at the end ({growth:+.1%})"
            )
            lines.append(line)
            if growth > GROWTH and requests >= JUDGED_FROM:
                self.failures.setdefault("memory grows", []).append(line)
        return lines

    def fail(self, wrong: str, text: str) -> None:
        """Something else is wrong."""
        with self._lock:
            self.failures.setdefault(wrong, []).append(text)

    def lines(self) -> list[str]:
        """The answers by family of paths and status, and the failures."""
        by_family: dict[str, list[str]] = {}
        for (name, status), number in sorted(self.answers.items()):
            by_family.setdefault(name, []).append(f"{status or 'none'} x{number}")
        lines = [f"{sum(self.answers.values())} requests:"]
        lines += [f"  {name:32} {', '.join(told)}" for name, told in by_family.items()]
        lines.append(f"{sum(map(len, self.failures.values()))} failures")
        for wrong, texts in sorted(self.failures.items()):
            lines.append(f"  {len(texts)} x {wrong}")
            lines += [f"    {text}" for text in texts[:_SHOWN]]
        return lines


def family(path: str) -> str:
    """The path without the ids in it and without the query."""
    words = [word for word in path.partition("?")[0].split("/") if word]
    size = 4 if words[:2] == ["v2", "warre"] else 2
    last = words[size + 1 :]
    return "/" + "/".join([*words[:size], *(["..."] if len(words) > size else []), *last])
