"""Bookings and changes of reservations: how they are decided and written, with quotas."""
