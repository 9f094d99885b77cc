"""Moves of reservations to other hosts: off failed or drained hosts, or to make room."""
