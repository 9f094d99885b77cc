"""Nova and Placement of the dev cloud, slow or away.

Blazar finds them by their endpoints in Keystone's catalog. While they are slow, the endpoints lead
to proxies that wait before they pass a request on.
"""

import contextlib
import http.server
import os
import pathlib
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import openstack
import requests

SERVICES = {"compute": "nova-api", "placement": "placement"}
_TOOL = pathlib.Path(__file__).resolve().parents[1] / "tools" / "devcloud"
_PROXY_PASSES = {"content-type", "location", "vary", "x-openstack-request-id"}


@contextlib.contextmanager
def slow(seconds: float) -> Iterator[None]:
    """Let each answer of Nova and Placement to Blazar come later."""
    identity = openstack.connect().identity
    kinds = {service.id: service.type for service in identity.services()}
    endpoints = [
        endpoint
        for endpoint in identity.endpoints(interface="public")
        if kinds.get(endpoint.service_id) in SERVICES
    ]
    with contextlib.ExitStack() as stack:
        urls = [stack.enter_context(_proxy(endpoint.url, seconds)) for endpoint in endpoints]
        try:
            for endpoint, url in zip(endpoints, urls, strict=True):
                identity.update_endpoint(endpoint.id, url=url)
            _restart_blazar()
            yield
        finally:
            for endpoint in endpoints:
                identity.update_endpoint(endpoint.id, url=endpoint.url)
            _restart_blazar()


@contextlib.contextmanager
def away() -> Iterator[None]:
    """Stop Nova's API and Placement while the block runs."""
    try:
        for service in SERVICES.values():
            _tell("stop", service)
        yield
    finally:
        for service in SERVICES.values():
            _tell("start", service)


def _restart_blazar() -> None:
    """Let Blazar's services read the catalog again."""
    for command in ("stop", "start"):
        _tell(command, "blazar-*")


def _tell(*words: str) -> None:
    home = os.environ["WARRE_DEVCLOUD_HOME"]
    subprocess.run([_TOOL, *words, "--home", home], check=True, capture_output=True)


@contextlib.contextmanager
def _proxy(url: str, seconds: float) -> Iterator[str]:
    """The URL of a server that waits, and then passes each request on to ``url``."""

    class Handler(_Handler):
        target, wait = url.rstrip("/"), seconds

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    target: ClassVar[str]
    wait: ClassVar[float]

    def _pass(self) -> None:
        time.sleep(self.wait)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # With the client's own Host: Nova answers with links, which must lead here again.
        headers = {name: v for name, v in self.headers.items() if name.lower() != "connection"}
        answer = requests.request(
            self.command, self.target + self.path, headers=headers, data=body, timeout=120
        )
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name.lower() in _PROXY_PASSES or name.lower().startswith("openstack-"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _pass

    def log_message(self, *words: Any) -> None:
        """Print nothing."""
