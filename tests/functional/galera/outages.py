"""Outages of the cluster's nodes, which die or leave one after the other and join again."""

import contextlib
import itertools
import os
import pathlib
import subprocess
import threading
import time
from collections.abc import Iterator

_TOOL = pathlib.Path(__file__).parents[3] / "tools" / "testdb"
#: For how many seconds all nodes are up before one goes, and for how many it is away.
_TOGETHER, _AWAY = 6, 4


@contextlib.contextmanager
def outages() -> Iterator[list[str]]:
    """While the block runs, kill a node, let it join again, let the next one leave, and so on.

    :returns: a list to which "kill 1", "rejoin 1", "leave 2" and so on are added as they happen.
    """
    happened: list[str] = []
    failures: list[BaseException] = []
    stop = threading.Event()

    def run() -> None:
        ways = itertools.cycle(["kill", "leave"])
        try:
            for node in itertools.cycle([1, 2, 3]):
                if stop.wait(_TOGETHER):
                    return
                for command, pause in ((next(ways), _AWAY), ("rejoin", 0)):
                    _tell(command, node)
                    happened.append(f"{command} {node}")
                    time.sleep(pause)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield happened
    finally:
        stop.set()
        thread.join()
    if failures:
        raise failures[0]


def _tell(command: str, node: int) -> None:
    home = os.environ["WARRE_TEST_GALERA_HOME"]
    words = [str(_TOOL), command, str(node), "--home", home]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
