"""Reservable flavors inside OpenStack Blazar."""
