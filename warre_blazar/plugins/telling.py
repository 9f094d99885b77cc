"""The threads of a manager that tell people and other systems about reservations."""

import threading
from collections.abc import Callable
from typing import Any, cast

from oslo_config import cfg
from oslo_log import log as logging
from stevedore import driver
from stevedore import exception as stevedore_exc

from warre_blazar import texts, timer, times
from warre_blazar.db import session
from warre_blazar.db.messages import deliveries, outbox
from warre_blazar.domain.messages.messages import MessageLimits, WantedMessages
from warre_blazar.errors import exceptions
from warre_blazar.messengers import Messenger
from warre_blazar.messengers.project_webhooks import WebhookCaller
from warre_blazar.openstack.bus import Bus
from warre_blazar.services.booking.through_manager import change
from warre_blazar.services.credits.looking import CreditsChannel
from warre_blazar.services.messages import messages, notifications
from warre_blazar.services.messages.composing import MessageSite
from warre_blazar.services.messages.delivery import Channel, Delivery
from warre_blazar.services.messages.rendering import Templates
from warre_blazar.services.messages.webhooks import ProjectWebhooks
from warre_blazar.services.running import mark
from warre_blazar.site_rules import conditions, credits, webhooks

LOG = logging.getLogger(__name__)


def configured() -> list[Channel]:
    """The channels that the configuration names.

    :raises Misconfigured: a messenger isn't known, or an option that a channel needs can't be used.
    """
    options = cfg.CONF.warre
    channels: list[Channel] = [notifications.LeaseNotifications(Bus())]
    if options.emit_notifications:
        channels.append(notifications.ReservationNotifications(Bus()))
    if options.emit_warre_notifications:
        channels.append(notifications.WarreNotifications(Bus()))
    if credits.is_enabled():
        channels.append(CreditsChannel(credits.charging()))
    if hosts := webhooks.hosts():
        channels.append(ProjectWebhooks(WebhookCaller(hosts, webhooks.networks())))
    site = _site()
    for name in dict.fromkeys(options.messengers):
        channels.append(messages.MessageChannel(name, _messenger(name), site))
    return channels


def _messenger(name: str) -> Messenger:
    try:
        made: driver.DriverManager[Messenger] = driver.DriverManager(
            "warre_blazar.messengers", name, invoke_on_load=True, invoke_args=(cfg.CONF,)
        )
    except stevedore_exc.NoMatches as error:
        raise exceptions.Misconfigured(
            "[warre] messengers", texts.services.NO_MESSENGER(name=name)
        ) from error
    return cast(Messenger, made.driver)


def _site() -> MessageSite:
    options = cfg.CONF.warre_messages
    return MessageSite(
        name=options.site_name,
        support=options.support,
        wanted=WantedMessages(frozenset(options.events), options.own_changes),
        limits=MessageLimits(options.user_messages_per_hour, options.contact_messages_per_hour),
        templates=Templates(options.template_dir),
        latest_end=lambda reservation_id: change.latest_end(reservation_id, conditions.of_users()),
        before_end=conditions.before_end().default,
    )


def start(channels: list[Channel], manager_id: str, known: threading.Event) -> None:
    """Start a thread for each channel. The threads run until the process ends.

    :param known: is set when the manager has a heartbeat. The turn of a manager without one would
        count as a dead manager's.
    """

    def run() -> None:
        known.wait()
        mark.gate.opened.wait()
        _repeat("The list of channels", lambda: _note(channels))
        for channel in channels:
            _thread(channel.name, _deliver, channel, Delivery(channel, manager_id))

    _thread("start", run)


def _thread(name: str, target: Callable[..., None], *args: Any) -> None:
    threading.Thread(target=target, args=args, name=f"warre-tell-{name}", daemon=True).start()


def _note(channels: list[Channel]) -> None:
    """Write which channels there are.

    Blazar's notifications about leases have a channel that isn't among those for reservations.
    """
    billing = {c.name: c.billing for c in channels if c.name != outbox.LEASES}
    session.change(deliveries.set_channels, billing)


def _deliver(channel: Channel, delivery: Delivery) -> None:
    def work() -> None:
        if not mark.gate.is_open or not delivery.run():
            timer.sleep(times.OUTBOX_READ_EVERY)

    while True:
        _repeat(f"The channel {channel.name}", work)


def _repeat(what: str, work: Callable[[], None]) -> None:
    """Call a function until it raises nothing."""
    pause = times.CHANNEL_FIRST_PAUSE
    while True:
        try:
            work()
        except Exception as error:
            expected = isinstance(error, (exceptions.WarreError, *session.FAILURES))
            text = "%s doesn't work and tries again in %s seconds: %s"
            LOG.warning(text, what, pause, error, exc_info=not expected)
            timer.sleep(pause)
            pause = min(2 * pause, times.CHANNEL_LONGEST_PAUSE)
        else:
            return
