"""Commands for the ``blazar`` and ``openstack`` CLIs. They need the package's extra ``cli``."""
