"""What the configuration and a caller's roles decide, for the services."""
