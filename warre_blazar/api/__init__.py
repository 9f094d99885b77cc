"""The API of this package: its controllers, what they accept, and what they answer."""

from warre_blazar import compat

compat.check()
