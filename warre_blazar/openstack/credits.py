"""Requests to a service that keeps accounts of credits."""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import requests
import urllib3.exceptions
from oslo_log import log as logging

from warre_blazar import texts, timer
from warre_blazar.errors import exceptions

LOG = logging.getLogger(__name__)

#: The service in sentences for people.
SERVICE = "The credits service"

#: The largest number of bytes of an answer that are read, and of characters that are shown of it.
_MOST_BYTES = 65536
_MOST_CHARACTERS = 500

#: Coral Credits says why it refuses by the name of an exception with its text.
_OF_EXCEPTION = re.compile(r"""\w+\((["'])(?P<text>.*)\1,?\)""", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the service has answered."""

    status: int
    #: Its words for people. Empty: it has none.
    said: str

    @property
    def is_yes(self) -> bool:
        """Whether the service allows or did what it was asked."""
        return self.status == 204

    @property
    def is_no(self) -> bool:
        """Whether the service refuses in words for people."""
        return self.status == 403 and bool(self.said)

    @property
    def is_unknown(self) -> bool:
        """Whether the service doesn't know what the request is about."""
        return self.status == 404

    @property
    def failure(self) -> exceptions.ServiceUnavailable:
        """The error for an answer that is neither of these, such as one from a proxy.

        From a status of 500 on, the service may have done what it was asked.
        """
        kind = exceptions.ServiceTimedOut if self.status >= 500 else exceptions.ServiceUnavailable
        return kind(SERVICE, texts.services.SAID(said=f"its answer has the status {self.status}"))


@dataclasses.dataclass(frozen=True)
class CreditsService:
    """The service, as the configuration names it."""

    #: The URL before the paths, without a slash at its end.
    url: str
    #: Returns the headers by which the service knows who asks.
    headers: Callable[[], Mapping[str, str]]
    #: The longest time in seconds that one request may take.
    timeout: float
    #: The file with the certificates of the authority that has signed the service's, or True.
    verify: bool | str = True

    def post(self, path: str, body: Mapping[str, Any]) -> Answer:
        """Send a request.

        :raises ServiceUnavailable: nobody has received the request.
        :raises ServiceTimedOut: the service may have received it, and gave no whole answer.
        """
        sent = {"Content-Type": "application/json", **self.headers()}
        deadline = timer.now() + self.timeout
        try:
            with requests.post(
                self.url + path,
                data=json.dumps(body),
                headers=sent,
                timeout=self.timeout,
                verify=self.verify,
                allow_redirects=False,
                stream=True,
            ) as answer:
                made = Answer(answer.status_code, _said(_read(answer, deadline)))
        except requests.RequestException as error:
            said = texts.services.SAID(said=type(error).__name__)
            if _was_never_sent(error):
                raise exceptions.ServiceUnavailable(SERVICE, said) from error
            raise exceptions.ServiceTimedOut(SERVICE, said) from error
        if not made.is_yes:
            LOG.info("The credits service answered %s with %s: %s", path, made.status, made.said)
        return made


def _read(answer: requests.Response, deadline: float) -> bytes:
    """The beginning of an answer's body, as far as it comes in time."""
    body = b""
    for part in answer.iter_content(4096):
        body += part
        if len(body) >= _MOST_BYTES or timer.now() > deadline:
            break
    return body


def _said(body: bytes) -> str:
    """The words for people in a body, or the beginning of a body that has none.

    Coral Credits has them in ``error``, and Chameleon's portal in ``message``.
    """
    try:
        document = json.loads(body)
    except ValueError:
        return ""
    if not isinstance(document, dict):
        return ""
    said = next((document[n] for n in ("error", "message") if document.get(n)), "")
    text = str(said) if isinstance(said, str) else ""
    of_exception = _OF_EXCEPTION.fullmatch(text)
    return (of_exception["text"] if of_exception else text)[:_MOST_CHARACTERS].rstrip(". ")


def _was_never_sent(error: requests.RequestException) -> bool:
    """Whether no connection to the service could be made."""
    if isinstance(error, (requests.exceptions.SSLError, requests.exceptions.ConnectTimeout)):
        return True
    cause = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(cause, urllib3.exceptions.NewConnectionError)
