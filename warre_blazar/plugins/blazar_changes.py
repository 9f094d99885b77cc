"""Changes Blazar's manager in this process, as the enabled plugins of this package need it.

The import of this package changes nothing, because stevedore imports the plugins of all installed
packages, enabled or not. Blazar makes only the plugins that ``[manager] plugins`` names. It makes
them before it looks up filters, and before it serves the first request. So the plugins call these
functions when they are made. Each change can be made repeatedly.
"""

from oslo_config import cfg

from warre_blazar import conf, enforcement
from warre_blazar.conf import authtoken
from warre_blazar.db import migration
from warre_blazar.errors import blazar_errors
from warre_blazar.plugins import (
    booked_properties,
    change_records,
    flavor_instances,
    graceful_stop,
    held_work,
    host_names,
    joined_writes,
    joint_bookings,
    lease_contexts,
    lease_guard,
    lease_requests,
    lost_leases,
    outdated_hosts,
    refusal_log,
    refusal_records,
)

#: For every plugin of this package.
ALWAYS = (enforcement.register, refusal_log.register, blazar_errors.expose_to_v1)
#: For flavor:slot.
FOR_SLOTS = (
    enforcement.enable,
    booked_properties.register,
    change_records.register_deletions,
    graceful_stop.register,
    host_names.register,
    joined_writes.register,
    joint_bookings.register,
    lease_contexts.register,
    lease_guard.register,
    # After joined_writes, whose functions it calls.
    lease_requests.register,
    lost_leases.register,
    outdated_hosts.register,
    refusal_records.register,
    # After all others that look at what is booked.
    flavor_instances.register,
    # After lease_guard, which may correct what Blazar writes.
    change_records.register,
    # Around all others, so that nothing is recorded of what is held.
    held_work.register,
)


def make() -> None:
    """Make the changes that every plugin of this package needs.

    :raises MigrationError: this package's tables are missing. Then nothing is changed, and this
        package's filters are taken out of the option, so that Blazar serves its own types.
    """
    conf.register(cfg.CONF)
    try:
        migration.require(cfg.CONF.database.connection)
    except migration.MigrationError:
        enforcement.withdraw()
        raise
    authtoken.complete_region(cfg.CONF)
    for change in ALWAYS:
        change()


def make_for_slots() -> None:
    """Make the further changes that flavor:slot needs."""
    for change in FOR_SLOTS:
        change()
