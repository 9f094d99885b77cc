"""Moves of reservations from one host to another."""
