"""The errors of this package, their HTTP statuses, and how Blazar raises them."""
