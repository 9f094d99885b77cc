"""Hosts: what they have, and what is booked on them."""
