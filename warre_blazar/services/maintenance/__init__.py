"""Maintenance windows, and the reservations that they meet."""
