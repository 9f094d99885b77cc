"""Running: starts, ends and deletes leases at their time, and repairs interrupted leases."""
