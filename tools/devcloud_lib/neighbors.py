"""Runs the tests of the exact plugins on a dev cloud that has them in place of Blazar's."""

import os
from collections.abc import Callable
from pathlib import Path

from devcloud_lib import ports, side_cloud

_OFFSET = ports.BESIDE["neighbors"]
_OPTIONS = ("--managers=2", "--computes=5", "--password-rounds=4", "--host-plugins=exact")
TESTS = "tests/functional/neighbors"


def run(home: Path, exported: Callable[..., dict[str, str]], test: Callable[..., bool]) -> bool:
    """Run the tests. Return whether all of them passed.

    :param home: the directory of the cloud.
    :param exported: returns the environment that a tool's ``env`` prints.
    :param test: runs pytest with some words and an environment.
    """
    side_cloud.wipe(home)
    with side_cloud.running(home, f"--port-offset={_OFFSET}", *_OPTIONS):
        side_cloud.register_hosts(home)
        cloud = exported(str(side_cloud.TOOL), "env", "--home", str(home))
        # The tests run in their own environment, not in the cloud's.
        return test(TESTS, env={"WARRE_NEIGHBOR_RUNS": "5", **cloud, "PATH": os.environ["PATH"]})
