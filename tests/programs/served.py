"""The whole site over HTTP, for programs that run in processes of their own."""

import contextlib
import json
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from wsgiref import simple_server

from devcloud_lib.programs import program

from tests.unit.consumers.site import ExactSite

REPOSITORY = Path(__file__).resolve().parents[2]
#: Lets a script do something, and returns its answer.
Ask = Callable[[dict[str, Any]], dict[str, Any]]


@contextlib.contextmanager
def answering(script: str, *words: str) -> Iterator[Ask]:
    """Run a script of this directory that answers each line of JSON with another one."""
    command = [program("python"), "-W", "ignore", str(REPOSITORY / "tests/programs" / script)]
    with subprocess.Popen(
        [*command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        stdin, stdout = started.stdin, started.stdout
        assert stdin and stdout

        def ask(asked: dict[str, Any]) -> dict[str, Any]:
            print(json.dumps(asked), file=stdin, flush=True)
            answer: dict[str, Any] = json.loads(stdout.readline())
            return answer

        yield ask
        stdin.close()


class _Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing of each request."""


class ServedSite(ExactSite):
    """The site, whose endpoint Keystone's catalog has.

    :ivar requests: the requests that came, such as ``GET /v2/flavors``.
    :ivar before: is called with each of them before it is executed.
    """

    url = ""

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Serve requests, one after the other."""
        self.be_idle()
        with simple_server.make_server(
            "127.0.0.1", 0, self._handle, handler_class=_Quiet
        ) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}"
            yield
            server.shutdown()
            thread.join()

    def be_idle(self) -> None:
        """Forget the requests, and do nothing before further ones."""
        self.requests: list[str] = []
        self.before: Callable[[str], None] = lambda _: None
        self.cloud.keystone.endpoints["reservation"] = f"{self.url}/v1"

    def _handle(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        line = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        self.requests.append(line)
        self.before(line)
        return self.app(environ, start_response)
