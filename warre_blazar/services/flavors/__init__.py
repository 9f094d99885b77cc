"""Flavors: what operators offer, and who may book it."""
