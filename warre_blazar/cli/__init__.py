"""Commands for the ``blazar`` and ``openstack`` CLIs; needs the extra ``cli``."""
