"""Reservable flavors for OpenStack Blazar."""
