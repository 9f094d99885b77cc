from warre_blazar import compat

compat.check()
