"""When flavors can be booked: free slots, offers, availability and extensions."""
