"""Starts processes for tests without importing the package in each of them."""

import multiprocessing
from multiprocessing.context import ForkServerContext

#: Each of them imports most of the package, which takes three seconds of processor time.
_MODULES = ("tests.functional.db.manager_process", "tests.functional.db.races")


def context() -> ForkServerContext:
    """A context whose processes are copies of one that has imported the package, and nothing else.

    All of them have the environment variables that this process had when it started the first one.
    """
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(list(_MODULES))
    return found
