"""Explores the interleavings of operations on reservations, with faults at each step.

Real functions of Blazar and of this package run in threads, of which exactly one goes on at a time.
A scheduler decides at each transaction and at each request to another service which one that is.
"""
