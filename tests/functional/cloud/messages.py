"""What people get: the mails that the cloud's mail server keeps, and a receiver of webhooks."""

import contextlib
import email
import email.policy
import hashlib
import hmac
import json
import mailbox
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from http import server
from typing import Any

from tests.functional.cloud import devcloud

SECRET = "the secret of the webhook in tests"


def mails(reservation: dict[str, Any]) -> list[EmailMessage]:
    """The mails about a reservation."""
    box = mailbox.Maildir(
        devcloud.home() / "mail",
        factory=lambda file: email.message_from_binary_file(file, policy=email.policy.default),
    )
    return [mail for mail in box if reservation["id"] in str(mail["Message-ID"])]


class Receiver:
    """Records the documents that are posted to it with a valid signature."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/hook"
        self.documents: list[dict[str, Any]] = []

    def about(self, reservation: dict[str, Any]) -> list[dict[str, Any]]:
        """The documents about a reservation, in the order in which they have arrived."""
        return [d for d in self.documents if reservation["id"] in json.dumps(d)]


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens while the block runs."""

    class Handler(server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            signed = self.headers["Warre-Timestamp"].encode() + b"." + body
            expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
            is_valid = self.headers["Warre-Signature"] == f"sha256={expected}"
            if is_valid:
                receiver.documents.append(json.loads(body))
            self.send_response(204 if is_valid else 403)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    listener = server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(listener.server_port)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        listener.shutdown()
        listener.server_close()
