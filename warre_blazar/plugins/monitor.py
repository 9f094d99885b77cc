"""Blazar's hook for periodic work, by which leftovers in Nova and Placement get removed."""

from typing import Any

from blazar.plugins import base
from oslo_config import cfg
from oslo_utils import timeutils

from warre_blazar.services import backing, events


class SlotMonitor(base.BaseMonitorPlugin):
    """Polls nothing but our own notes of what is left to do."""

    def is_notification_enabled(self) -> bool:
        return False

    def get_notification_event_types(self) -> list[str]:
        return []

    def get_notification_topics(self) -> list[str]:
        return []

    def notification_callback(self, event_type: str, payload: Any) -> dict[str, Any]:
        return {}

    def is_polling_enabled(self) -> bool:
        return True

    def get_polling_interval(self) -> int:
        return int(cfg.CONF.warre.reconcile_interval)

    def poll(self) -> dict[str, Any]:
        """Do what is left to do; no reservation's flags change by it."""
        now = timeutils.utcnow()
        events.repeat_given_up(now)
        events.clear_abandoned(now)
        events.restore_interrupted(now)
        backing.reconcile()
        return {}

    def get_healing_interval(self) -> int:
        return 0

    def heal(self) -> dict[str, Any]:
        return {}
