"""The settings of a test: those of ``settings``, with the pages of blazar-dashboard beside ours."""

from blazar_dashboard import enabled as theirs
from openstack_dashboard.local import enabled

enabled.__path__.extend(theirs.__path__)

from tests.dashboard.settings import *  # noqa: E402, F403
