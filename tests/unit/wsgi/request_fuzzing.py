"""A fuzzer of all of the API, which watches for answers, logs and changes that must not happen.

The requests go to the application in this process. After each round of requests the site gets what
it had at first, so that a failure can be repeated with the requests of one round.
"""

import collections
import dataclasses
import json
import logging
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import webob

from tests.unit.api import identity
from tests.unit.wsgi import odd_requests, sending, two_projects
from tests.unit.wsgi.odd_requests import Request
from tests.unit.wsgi.whole import WholeSite
from warre_blazar.openstack import limits

#: How many requests are sent before the site gets what it had at first.
ROUND = 50
_READING = ("GET", "HEAD", "OPTIONS", "TRACE", "get", "FOO")
#: Statuses of requests that were refused for who sent them, or for what they ask for.
_WITHOUT_A_CHANGE = (401, 403, 404, 405, 406, 411, 413)
_TRACEBACK = "Traceback (most recent call last)"


@dataclasses.dataclass
class Report:
    """The results of a run."""

    sent: int = 0
    statuses: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    #: The paths, with parameters, of requests that were carried out, with the method.
    carried_out: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    #: The paths and methods that were asked for.
    asked: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    #: What must not happen, each with the request and with what repeats it.
    wrong: list[str] = dataclasses.field(default_factory=list)

    def lines(self) -> list[str]:
        """The results as text for people."""
        counted = [f"{self.sent:6} requests, {len(self.asked)} methods of paths"]
        counted += [
            f"{number:6} answers {status}" for status, number in sorted(self.statuses.items())
        ]
        counted.append(f"{len(self.carried_out):6} methods of paths were carried out")
        counted.append(f"{len(self.wrong):6} things wrong")
        return counted + [f"  {wrong}" for wrong in self.wrong]


class _Errors(logging.Handler):
    """Keeps the errors with tracebacks that the API logs. The manager runs in other threads."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._thread = threading.get_ident()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread != self._thread:
            return
        text = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            text += "".join(traceback.format_exception(record.exc_info[1]))
        if _TRACEBACK in text:
            self.found.append(text[:200] + " ... " + text[-600:])


class RequestFuzz:
    """A run of the fuzzer, on an empty site."""

    def __init__(self, site: WholeSite, app: Any, seed: int) -> None:
        self._site, self._app, self._seed = site, app, seed
        rules = [rule.rule for rule in site.stock_app().v1.url_map.iter_rules()]
        v1 = [r for r in rules if r.startswith("/v1") and not r.endswith(".json")]
        self._generator = odd_requests.Generator(seed, v1)
        self.report = Report()
        self._round_start = 0

    def run(self, examples: int, first: int = 0) -> Report:
        """Send a number of requests, from the request with the number ``first`` on."""
        errors = _Errors()
        logging.getLogger().addHandler(errors)
        try:
            for start in range(first, first + examples, ROUND):
                self._round(range(start, min(start + ROUND, first + examples)), errors)
        finally:
            logging.getLogger().removeHandler(errors)
        return self.report

    def _round(self, numbers: range, errors: _Errors) -> None:
        limits._remembered.clear()
        self._things = self._site.remembered(self._furnish)
        self._site.set_time(two_projects.PRESENT)
        self._before = two_projects.rows(self._site)
        self._round_start = numbers.start
        self._unshared = self._things.shareable
        for number in numbers:
            request = self._generator.request(number, self._things.known)
            errors.found.clear()
            answer = self._send(request)
            wrong = [*_wrong_form(request, answer), *self._wrong_effects(request, answer)]
            wrong += [f"a traceback in the log: {text}" for text in errors.found]
            for what in wrong:
                self._report(what, request, answer)

    def _furnish(self) -> two_projects.Things:
        return two_projects.furnish(self._site)

    def _send(self, request: Request) -> webob.Response:
        environ = {"QUERY_STRING": request.query, **request.headers}
        who = request.sender
        path = odd_requests.decoded(request.path)
        self.report.sent += 1
        self.report.asked.add((request.method, request.template))
        try:
            answer = sending.send(
                self._app, request.method, path, request.body, who=who, environ=environ
            )
        except Exception:
            return webob.Response(f"crashed: {traceback.format_exc()[-800:]}", status=599)
        self.report.statuses[answer.status_int] += 1
        if answer.status_int < 400:
            self.report.carried_out[f"{request.method} {request.template}"] += 1
        return answer

    def _report(self, what: str, request: Request, answer: webob.Response) -> None:
        count = request.number - self._round_start + 1
        place = f"--from {self._round_start} --examples {count}"
        repeat = f"tools/fuzz --only requests --seed {self._seed} {place}"
        self.report.wrong.append(
            f"{what}\n    {request.text()}\n    {answer.status} {answer.text[:300]!r}\n    {repeat}"
        )

    def _wrong_effects(self, request: Request, answer: webob.Response) -> Iterator[str]:
        """What the sender should neither have seen nor changed."""
        everything = request.everything()
        shown = f"{answer.headers} {answer.text}"
        for project, secrets in self._things.secrets.items():
            if request.sender == "admin" or _project(request.sender) == project:
                continue
            for secret in [*secrets, *self._unshared.get(project, ())]:
                if secret in shown and secret not in everything:
                    yield f"{secret} of {project} is shown to {request.sender}"
        if request.sender == "admin" and answer.status_int < 400 and _shares(request):
            self._unshared = {}
        before, self._before = self._before, two_projects.rows(self._site)
        may_change = answer.status_int not in _WITHOUT_A_CHANGE and request.method not in _READING
        for owner in before | self._before:
            mine = owner is not None and owner == _project_id(request.sender)
            if may_change and (mine or request.sender == "admin"):
                continue
            if before.get(owner) != self._before.get(owner):
                yield f"rows of {owner} were changed: {_difference(before, self._before, owner)}"


def _shares(request: Request) -> bool:
    """Whether a request of an operator can share a private flavor, or a window over it."""
    is_change = request.method not in (*_READING, "DELETE")
    return is_change and ("flavor" in request.path or "window" in request.path)


def _project(sender: str | None) -> str:
    return "alpha" if sender == "reader" else str(sender)


def _project_id(sender: str | None) -> str | None:
    return identity.project_id(sender) if sender in identity.PEOPLE else None


def _difference(before: two_projects.Rows, after: two_projects.Rows, owner: str | None) -> str:
    old, new = before[owner], after[owner]
    return f"{list(old - new)[:2]} became {list(new - old)[:2]}"


def _wrong_form(request: Request, answer: webob.Response) -> Iterator[str]:
    """What is wrong with the form of an answer."""
    if answer.status_int >= 500:
        yield f"{answer.status_int}"
        return
    if any(char < " " for name, value in answer.headerlist for char in name + value):
        yield f"a control character in a header: {answer.headerlist}"
    kind = answer.content_type or ""
    if answer.body and ("html" in kind or answer.body.lstrip().startswith(b"<")):
        yield "HTML"
        return
    if request.method == "HEAD":
        if answer.body:
            yield "a body in the answer to HEAD"
        return
    document = _document(answer)
    if answer.status_int >= 400 and answer.status_int != 401:
        if not isinstance(document, dict):
            yield "an error that isn't an object in JSON"
        elif document.get("error_code") != answer.status_int or not document.get("error_message"):
            yield "an error without its status and a message"
    elif answer.body and answer.status_int != 401 and document is None:
        yield "a body that isn't JSON"


def _document(answer: webob.Response) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError:
        return None
