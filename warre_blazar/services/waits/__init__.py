"""Waits: what projects want to book once there is room."""
