"""The messenger that posts messages to a URL, for chats and for programs of the site."""

import hashlib
import hmac
import json
import pathlib
import time

import requests
import urllib3.exceptions
from oslo_config import cfg

from warre_blazar import texts
from warre_blazar.errors import exceptions
from warre_blazar.messengers import Message, Messenger, Undeliverable, required

#: The request's time in seconds since 1970. It is part of what is signed, so that a receiver can
#: refuse a request that somebody has recorded and sends again.
TIMESTAMP = "Warre-Timestamp"
SIGNATURE = "Warre-Signature"

#: The receiver's answers that mean that it will never take this message.
_NEVER = frozenset({400, 410, 413, 415, 422})


class WebhookMessenger(Messenger):
    """Posts JSON that is signed with HMAC-SHA256."""

    needs_address = False

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        options = conf.warre_messages
        self._url = required(conf, "webhook_url")
        self._secret = required(conf, "webhook_secret").encode()
        self._timeout = options.webhook_timeout
        self._verify: bool | str = options.webhook_ca_file or True
        if options.webhook_ca_file and not pathlib.Path(options.webhook_ca_file).is_file():
            raise exceptions.Misconfigured(
                "[warre_messages] webhook_ca_file", texts.services.NO_FILE()
            )

    def send(self, message: Message) -> None:
        body = json.dumps(_document(message)).encode()
        try:
            # The answer's body isn't read, so it can't take long. A redirect isn't followed: the
            # URL is the operator's.
            with requests.post(
                self._url,
                data=body,
                headers=signed(self._secret, body),
                timeout=self._timeout,
                verify=self._verify,
                allow_redirects=False,
                stream=True,
            ) as answer:
                status = answer.status_code
        except requests.RequestException as error:
            if _is_unreachable(error):
                raise exceptions.ServiceUnavailable(
                    "The webhook", texts.services.SAID(said=type(error).__name__)
                ) from error
            raise
        check(status)


def signed(secret: bytes, body: bytes) -> dict[str, str]:
    """The headers of a body of JSON, with its signature."""
    stamp = str(int(time.time()))
    signature = hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256)
    return {
        "Content-Type": "application/json",
        TIMESTAMP: stamp,
        SIGNATURE: f"sha256={signature.hexdigest()}",
    }


def check(status: int) -> None:
    """
    :raises Undeliverable: the receiver will never take the message.
    :raises RuntimeError: the receiver hasn't taken the message.
    """
    if 200 <= status < 300:
        return
    text = f"the receiver answers with the status {status}"
    # Whatever the receiver, or a filter in front of it, answers may be due to this message.
    raise Undeliverable(text) if status in _NEVER else RuntimeError(text)


def _is_unreachable(error: requests.RequestException) -> bool:
    """Whether no connection to the receiver could be made."""
    if isinstance(error, (requests.exceptions.SSLError, requests.exceptions.ConnectTimeout)):
        return True
    cause = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(cause, urllib3.exceptions.NewConnectionError)


def _document(message: Message) -> dict[str, object]:
    return {
        "id": message.id,
        "event": message.event,
        "to": message.to,
        "subject": message.subject,
        "text": message.text,
        "html": message.html,
        "data": message.data,
        "stop_url": message.stop_url,
        "events": list(message.events),
    }
