"""Keeping order: the services with which operators check, repair, import and remove things."""
