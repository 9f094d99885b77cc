"""Processes of their own for tests, which need not import everything first."""

import multiprocessing
from multiprocessing.context import ForkServerContext

#: Each of them imports most of the package, which takes three seconds of processor time.
_MODULES = ("tests.functional.db.manager_process", "tests.functional.db.races")


def context() -> ForkServerContext:
    """Starts processes as copies of one that has imported the package, and has done nothing else.

    The environment variables are those of the time at which the first process was started.
    """
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(list(_MODULES))
    return found
