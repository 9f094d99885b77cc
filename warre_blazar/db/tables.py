"""The tables that queries are about, Blazar's and ours, under full names.

Both have reservations: ``reservations`` is Blazar's, which a lease holds; ``bookings`` is ours,
which says what of a flavor a reservation of Blazar's takes.
"""

from blazar.db.sqlalchemy import models as blazar

from warre_blazar.db import models

leases = blazar.Lease.__table__
reservations = blazar.Reservation.__table__
events = blazar.Event.__table__
allocations = blazar.ComputeHostAllocation.__table__
instance_reservations = blazar.InstanceReservations.__table__
compute_hosts = blazar.ComputeHost.__table__

bookings = models.reservations
backings = models.backings
executions = models.executions
managers = models.managers
