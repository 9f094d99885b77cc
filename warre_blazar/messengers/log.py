"""The messenger that writes a line into the log of the manager."""

from oslo_config import cfg
from oslo_log import log as logging

from warre_blazar.messengers import Message, Messenger

LOG = logging.getLogger(__name__)


class LogMessenger(Messenger):
    """Logs to whom a message would go, and its subject. For trying out which messages there are."""

    needs_address = False

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        pass

    def send(self, message: Message) -> None:
        LOG.info(
            "Message %s (%s) to %s: %s", message.id, message.event, message.to, message.subject
        )
