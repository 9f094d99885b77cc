"""What the API asks Blazar's manager to do with reservations."""
