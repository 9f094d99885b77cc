"""Offering: flavors, who may book them, and when they can be booked."""
