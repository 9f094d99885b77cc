"""Slots: when flavors can be booked."""
