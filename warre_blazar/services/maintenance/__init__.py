"""Maintenance windows, and what becomes of the reservations that they meet."""
