"""Messengers: ways in which messages reach people.

A site can add a messenger of its own. It is a subclass of ``Messenger`` that the site registers as
an entry point in ``warre_blazar.messengers`` and names in ``[warre] messengers``. The page of
messages in the documentation shows an example.
"""

import abc
import contextlib
from collections.abc import Callable, Iterator
from typing import ClassVar

from oslo_config import cfg

from warre_blazar import texts
from warre_blazar.domain.messages.messages import Message
from warre_blazar.errors.exceptions import Misconfigured, ServiceUnavailable
from warre_blazar.services.messages.delivery import Undeliverable

__all__ = ["Message", "Messenger", "Misconfigured", "ServiceUnavailable", "Undeliverable"]


class Messenger(abc.ABC):
    """A way in which messages reach people."""

    #: Whether the messenger can send only messages whose receiver has an email address.
    needs_address: ClassVar[bool] = True

    @abc.abstractmethod
    def __init__(self, conf: cfg.ConfigOpts) -> None:
        """
        :param conf: the configuration. The options of this package are registered. A messenger
            registers its own.
        :raises Misconfigured: an option is missing or can't be used. Then the manager doesn't
            start.
        """

    @abc.abstractmethod
    def send(self, message: Message) -> None:
        """Send a message. It returns or raises within a minute.

        :raises Undeliverable: this message can never be sent. It is given up.
        :raises ServiceUnavailable: no message can be sent at the moment. All messages wait.
        :raises Exception: this message couldn't be sent. It is tried again, and meanwhile messages
            about other reservations are sent.
        """

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[Message], None]]:
        """A function that sends a message, as ``send`` does, for a batch of messages.

        A messenger that has a connection can keep it open meanwhile.
        """
        yield self.send


def required(conf: cfg.ConfigOpts, name: str) -> str:
    """The value of an option in ``[warre_messages]`` that a messenger needs.

    :raises Misconfigured: the option isn't set.
    """
    value = conf.warre_messages[name]
    if not value:
        raise Misconfigured(f"[warre_messages] {name}", texts.services.NOT_SET())
    return str(value)
