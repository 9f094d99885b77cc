"""Blazar's API as this package serves it: Blazar's application, with requests checked first."""

from warre_blazar import compat

compat.check()
