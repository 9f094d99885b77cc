"""What the API's process asks the manager to do with reservations, by calls of RPC."""
