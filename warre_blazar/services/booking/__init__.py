"""Booking: decides about bookings and changes, and writes them."""
