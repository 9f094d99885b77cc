"""Leaves out test modules that can't run with the installed Blazar."""

import pathlib
import re

from warre_blazar import compat

#: The first major version of Blazar without eventlet.
_WITHOUT_EVENTLET = 18
#: Imports of modules whose tests serve HTTP in a thread, or run the API and the manager in threads.
_THREADS = re.compile(
    r"^(from|import) (aiosmtpd|http\.server|tests\.unit\.(api|wsgi|messengers\.mail_server))\b",
    re.MULTILINE,
)
#: The directories of such tests.
_DIRECTORIES = ("api", "wsgi")


def pytest_ignore_collect(collection_path: pathlib.Path) -> bool | None:
    """Leave out tests that talk to threads of their own process, if Blazar uses eventlet.

    As soon as a module imports Blazar's API, eventlet replaces the sockets and threads of the whole
    process. A server that was started as a thread then waits forever.
    """
    if compat.version("blazar")[0] >= _WITHOUT_EVENTLET:
        return None
    relative = collection_path.relative_to(pathlib.Path(__file__).parent)
    is_test = collection_path.is_file() and collection_path.name.startswith("test_")
    if relative.parts[:1] and relative.parts[0] in _DIRECTORIES:
        return True
    return True if is_test and _THREADS.search(collection_path.read_text()) else None
