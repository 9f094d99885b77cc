"""The table objects of Blazar and of this package, under the names that all queries use.

There are two tables of reservations. ``reservations`` is Blazar's table of the reservations of all
leases. ``bookings`` is this package's table. For each flavor:slot reservation in Blazar's table,
``bookings`` has a row with the flavor and the number of instances. The columns of this package's
tables are defined in ``models``.
"""

from blazar.db.sqlalchemy import models as blazar

from warre_blazar.db import models

leases = blazar.Lease.__table__
reservations = blazar.Reservation.__table__
events = blazar.Event.__table__
allocations = blazar.ComputeHostAllocation.__table__
instance_reservations = blazar.InstanceReservations.__table__
compute_hosts = blazar.ComputeHost.__table__
extra_capabilities = blazar.ComputeHostExtraCapability.__table__
resource_properties = blazar.ResourceProperty.__table__
host_inventories = blazar.ComputeHostResourceInventory.__table__
host_traits = blazar.ComputeHostTrait.__table__

flavors = models.flavors
flavor_projects = models.flavor_projects
bookings = models.bookings
backings = models.backings
changes = models.changes
channels = models.channels
executions = models.executions
history = models.history
idempotency_keys = models.idempotency_keys
host_providers = models.host_providers
imported = models.imported
managers = models.managers
message_counts = models.message_counts
message_settings = models.message_settings
outbox = models.outbox
secrets = models.secrets
snapshots = models.snapshots
stopped_addresses = models.stopped_addresses
lease_workers = models.lease_workers
maintenance_windows = models.maintenance_windows
refusal_counts = models.refusal_counts
refusals = models.refusals
series = models.series
turns = models.turns
usage = models.usage
audits = models.audits
waits = models.waits
window_flavors = models.window_flavors
window_hosts = models.window_hosts
tallies = models.tallies
#: The generations of hosts and of projects.
host_generations = models.host_generations
project_generations = models.project_generations

#: Each row of ``bookings``, joined with its reservation and its lease in Blazar's tables.
bookings_in_leases = bookings.join(
    reservations, reservations.c.id == bookings.c.reservation_id
).join(leases, leases.c.id == reservations.c.lease_id)
