"""Leases at their time: starts, ends, backings, snapshots, idle reservations, repairs."""
