"""Blazar's API as this package serves it: Blazar's application, with checks of every request."""

from warre_blazar import compat

compat.check()
