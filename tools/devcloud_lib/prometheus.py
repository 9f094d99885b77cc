"""Debian's Prometheus and promtool, which the tests of the metrics run."""

from devcloud_lib import apt

PACKAGE = "prometheus"


def missing_packages() -> list[str]:
    """Return the Debian packages that have to be installed."""
    return [] if apt.find("prometheus") and apt.find("promtool") else [PACKAGE]
