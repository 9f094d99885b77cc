"""Series of reservations."""
