"""What several edges read from the configuration and from a caller's roles, for the services."""
