"""Messages and notifications about what happens to reservations."""
