"""An extension of the openstack command line, which loads it before it looks for commands.

It gives a class of python-blazarclient 4.6.0 the name under which that release looks for it.
Without that name, each ``openstack`` command prints that it can't load ``reservation_host_unset``.
"""

import argparse
import importlib
from contextlib import suppress

# The openstack command line reads these names of each extension.
API_NAME = "warre_blazar"
API_VERSION_OPTION = "os_warre_blazar_api_version"
API_VERSIONS = ("1",)
DEFAULT_API_VERSION = "1"


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Return the parser of global options as it is. The extension has no options.

    The openstack command line calls this before it loads commands.
    """
    _name_class("UnsetAttributeHost", "UnsetAttributesHost")
    return parser


def _name_class(wanted: str, present: str) -> None:
    # Machines without the extra ``cli`` may have the openstack command line, but no blazarclient.
    with suppress(ImportError):
        hosts = importlib.import_module("blazarclient.v1.shell_commands.hosts")
        if not hasattr(hosts, wanted) and hasattr(hosts, present):
            setattr(hosts, wanted, getattr(hosts, present))
