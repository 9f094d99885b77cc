"""Leaves out test modules that can't run with the installed Blazar."""

import pathlib
import re

from warre_blazar import compat

#: Imports of modules whose tests run the API and the manager in threads, or start an HTTP server,
#: and commands of programs that do so.
_SERVES = re.compile(
    r"^((from|import) (http\.server|tests\.unit\.(api|wsgi))\b"
    r"|from tests\.fakes\.service import .*\bService\b"
    r"|from tests\.unit\.messengers\.receiver import\b"
    r"|.*\"-m\", f\"tests\.unit\.plugins\b"
    r"|.*kombu\+memory)",
    re.MULTILINE,
)
#: The directories of such tests, and of the tests of this repository's tools, which serve HTTP too.
_DIRECTORIES = ("api", "tools", "wsgi")


def pytest_ignore_collect(collection_path: pathlib.Path) -> bool | None:
    """Leave out tests that wait for a thread of their own process, if Blazar uses eventlet.

    As soon as a module imports Blazar's API, eventlet replaces the sockets and threads of the whole
    process. A server in a thread then answers only while the test waits by eventlet's own means. If
    the test waits for a program that asks the server, both wait forever.
    """
    if compat.version("blazar")[0] >= compat.WITHOUT_EVENTLET:
        return None
    relative = collection_path.relative_to(pathlib.Path(__file__).parent)
    if relative.parts[:1] and relative.parts[0] in _DIRECTORIES:
        return True
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and _SERVES.search(collection_path.read_text()) else None
