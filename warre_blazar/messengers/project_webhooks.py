"""Calls the webhooks of projects, only at addresses that are checked when they are called.

A project chooses the URL, and may own the DNS of its host. So the name is looked up once for each
call, every address is checked, and the connection is made to a checked address. Proxies of the
environment aren't used, and redirects aren't followed.
"""

import concurrent.futures
import contextlib
import http.client
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from oslo_log import log as logging

from warre_blazar import times
from warre_blazar.domain.messages.webhook_urls import Network, UrlParts, is_callable, is_listed
from warre_blazar.messengers import Undeliverable, webhook
from warre_blazar.services.messages.webhooks import ReceiverSilent

LOG = logging.getLogger(__name__)

#: Returns the addresses of a host.
Resolve = Callable[[str], Sequence[str]]
#: Connects to an address and a port, within a number of seconds.
Connect = Callable[[tuple[str, int], float], socket.socket]

#: At most so many addresses of a host are tried.
_MOST_TRIED = 4


class WebhookCaller:
    """Posts JSON that is signed in the same way as by the messenger ``webhook``."""

    def __init__(
        self,
        hosts: Collection[str],
        private: Collection[Network],
        resolve: Resolve | None = None,
        connect: Connect | None = None,
    ) -> None:
        """
        :param hosts: as in ``webhook_urls.is_listed``.
        :param private: as in ``webhook_urls.is_callable``.
        """
        self._hosts, self._private = hosts, private
        self._resolve, self._connect = resolve or _resolved, connect or socket.create_connection
        self._tls = ssl.create_default_context()

    def __call__(self, url: str, key: str, document: Mapping[str, Any]) -> None:
        """Post a document.

        :param key: the key of the signature.
        :raises ReceiverSilent: the receiver hasn't answered in time.
        :raises Undeliverable: the host isn't listed, or the receiver never takes the document.
        :raises Exception: the receiver hasn't taken it.
        """
        parts = UrlParts.read(url)
        if not is_listed(parts, self._hosts):
            raise Undeliverable("the operator doesn't allow the host of the receiver any more")
        body = json.dumps(document).encode()
        webhook.check(_Call(self, parts, body, webhook.signed(key.encode(), body)).status())

    def connected(self, url: UrlParts) -> socket.socket:
        """A connection to a checked address of a URL's host.

        :raises TimeoutError: none of the addresses is reached, and one of them is silent.
        :raises RuntimeError: an address isn't allowed, or none of them is reached.
        """
        limit = times.PROJECT_WEBHOOK_TIMEOUT / times.SECOND
        addresses = self._checked(url.host)[:_MOST_TRIED]
        is_silent = False
        for address in addresses:
            try:
                # An address that swallows what is sent to it must leave time for the others.
                connection = self._connect((address, url.port), limit / len(addresses))
            except TimeoutError:
                is_silent = True
            except OSError:
                continue
            else:
                connection.settimeout(limit)
                return connection
        if is_silent:
            raise TimeoutError
        raise RuntimeError("the receiver can't be connected to")

    def encrypted(self, connection: socket.socket, url: UrlParts) -> ssl.SSLSocket:
        """A connection that will be encrypted, for the name of a URL's host."""
        return self._tls.wrap_socket(
            connection, server_hostname=url.host, do_handshake_on_connect=False
        )

    def _checked(self, host: str) -> Sequence[str]:
        """The addresses of a host, if all of them may be called."""
        try:
            found = self._resolve(host)
        except OSError as error:
            raise RuntimeError("the name of the host of the receiver isn't known") from error
        for address in found:
            # A zone, as in fe80::1%eth0, doesn't change what an address is.
            if not is_callable(ipaddress.ip_address(address.partition("%")[0]), self._private):
                LOG.warning("The webhook at %s isn't called, because of %s", host, address)
                raise RuntimeError("the host of the receiver has an address that isn't allowed")
        return found


class _Call:
    """A request, which takes a bounded time whatever the receiver and its DNS do.

    Nothing bounds the time of a look into DNS, and a receiver can send its answer byte by byte. So
    the request has a thread of its own, which is left behind when time is up.
    """

    def __init__(
        self, caller: WebhookCaller, url: UrlParts, body: bytes, headers: Mapping[str, str]
    ) -> None:
        self._caller, self._url, self._body = caller, url, body
        self._headers = {**headers, "Host": url.authority, "Connection": "close"}
        self._status: concurrent.futures.Future[int] = concurrent.futures.Future()
        self._lock = threading.Lock()
        self._is_over = False
        self._connection: socket.socket | None = None

    def status(self) -> int:
        """The status of the answer. The rest of the answer isn't read.

        :raises ReceiverSilent: there is none in time.
        :raises Exception: there is none for another reason.
        """
        threading.Thread(target=self._run, name="warre-webhook", daemon=True).start()
        try:
            return self._status.result(times.PROJECT_WEBHOOK_TIMEOUT / times.SECOND)
        except TimeoutError as error:
            raise ReceiverSilent from error
        except (OSError, http.client.HTTPException) as error:
            said = f"the connection to the receiver fails: {type(error).__name__}"
            raise RuntimeError(said) from error
        finally:
            self._break_off()

    def _run(self) -> None:
        try:
            self._status.set_result(self._answered())
        except Exception as error:
            self._status.set_exception(error)

    def _answered(self) -> int:
        with contextlib.ExitStack() as closing:
            connection = closing.enter_context(self._caller.connected(self._url))
            self._note(connection)
            if self._url.scheme == "https":
                encrypted = self._caller.encrypted(connection, self._url)
                self._note(closing.enter_context(encrypted))
                encrypted.do_handshake()
                connection = encrypted
            # The host and the port would only matter for the connection and the headers.
            request = http.client.HTTPConnection("")
            request.sock = connection
            request.request("POST", self._url.target, self._body, self._headers)
            return request.getresponse().status

    def _note(self, connection: socket.socket) -> None:
        """Note the connection that is broken off when time is up.

        :raises TimeoutError: time is up already. The request will be tried again, so it isn't sent.
        """
        with self._lock:
            self._connection = connection
            if self._is_over:
                raise TimeoutError

    def _break_off(self) -> None:
        with self._lock:
            self._is_over = True
            if self._connection is not None:
                with contextlib.suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)


def _resolved(host: str) -> list[str]:
    found = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))
