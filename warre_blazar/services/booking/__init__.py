"""Booking: admits, changes, deletes and looks up reservations."""
