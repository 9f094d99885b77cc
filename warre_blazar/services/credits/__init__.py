"""Charging leases with a credits service."""
