"""What Blazar's manager calls: the plugins, their threads, and the changes of Blazar's own code."""

from warre_blazar import compat

compat.check()
