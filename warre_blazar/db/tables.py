"""The table objects of Blazar and of this package, under the names that all queries use.

There are two tables of reservations. ``reservations`` is Blazar's table of the reservations of all
leases. ``bookings`` is this package's table. For each flavor:slot reservation in Blazar's table,
``bookings`` has a row with the flavor and the number of instances. It keeps the rows of past
reservations, which Blazar has deleted. The columns of this package's tables are defined in
``models`` and ``record_models``.
"""

from blazar.db.sqlalchemy import models as blazar

from warre_blazar.db import models, record_models

metadata = models.metadata
is_ours = models.is_ours

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
assignments = models.assignments
backings = models.backings
occurrences = models.occurrences
calendars = record_models.calendars
channels = record_models.channels
confined_projects = models.confined_projects
deliveries = record_models.deliveries
executions = models.executions
idempotency_keys = record_models.idempotency_keys
host_providers = models.host_providers
imported = record_models.imported
managers = models.managers
message_counts = record_models.message_counts
message_settings = record_models.message_settings
log_entries = record_models.log_entries
secrets = record_models.secrets
snapshots = record_models.snapshots
stopped_addresses = record_models.stopped_addresses
lease_workers = models.lease_workers
marks = models.marks
maintenance_windows = models.maintenance_windows
refusal_counts = record_models.refusal_counts
refusals = record_models.refusals
series = models.series
shares = models.shares
turns = models.turns
usage = record_models.usage
audits = record_models.audits
waits = models.waits
window_flavors = models.window_flavors
window_hosts = models.window_hosts
tallies = record_models.tallies
#: The generations of hosts and of projects.
host_generations = models.host_generations
project_generations = models.project_generations

#: Each live row of ``bookings``, joined with its reservation and its lease in Blazar's tables.
bookings_in_leases = bookings.join(reservations, reservations.c.id == bookings.c.live_id).join(
    leases, leases.c.id == reservations.c.lease_id
)

#: Each row of ``bookings``. Those of past reservations have no reservation and no lease.
all_bookings = bookings.outerjoin(reservations, reservations.c.id == bookings.c.live_id).outerjoin(
    leases, leases.c.id == reservations.c.lease_id
)
