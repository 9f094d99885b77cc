"""Makes a copy of the installed Blazar that has no v2 API, as a release to come will have none.

Usage: python -m tests.unit.wsgi.blazar_without_v2 DIRECTORY
"""

import importlib.util
import pathlib
import re
import shutil
import sys

#: Regular expressions of what is removed in the modules that use ``blazar.api.v2``. Each of them
#: matches once.
_REMOVED = {
    "api/app.py": [
        r"from blazar.api.v2 import app as v2_app\n",
        r" +self.v2 = v2_app.make_app\(\)\n",
        r" +self._append_versions_from_app\(versions, self.v2,\s+environ\)\n",
        r" +return self.v2\(environ, start_response\)\n",
    ],
    "api/root.py": [
        r"from blazar.api.v2 import controllers\n",
        r" +v2 = controllers.V2Controller\(\)\n",
        r" +self._append_versions_from_controller\(versions\['versions'\],\s+self.v2, 'v2'\)\n",
    ],
    "api/wsgi_app.py": [
        r"from blazar.api.v2 import app as v2_app\n",
        r" +if not CONF.enable_v1_api:\s+app = v2_app.make_app\(\)\s+else:\n    ",
    ],
    "cmd/api.py": [
        r"from blazar.api.v2 import app as v2_app\n",
        r" +if not CONF.enable_v1_api:\s+app = v2_app.make_app\(\)\s+else:\n    ",
    ],
    "opts.py": [
        r"import blazar.api.v2.app\n",
        r"import blazar.api.v2.controllers\n",
        r" +blazar.api.v2.app.auth_opts,\n",
        r" +\('api', blazar.api.v2.controllers.api_opts\),\n",
    ],
}


def make(directory: pathlib.Path) -> None:
    """Put the copy into a directory, which has to come before Blazar's own in ``PYTHONPATH``."""
    found = importlib.util.find_spec("blazar")
    assert found
    assert found.submodule_search_locations
    package = directory / "blazar"
    without = shutil.ignore_patterns("tests", "v2", "__pycache__")
    shutil.copytree(found.submodule_search_locations[0], package, ignore=without)
    for name, patterns in _REMOVED.items():
        path = package / name
        text = path.read_text()
        for pattern in patterns:
            text, removed = re.subn(pattern, "", text)
            assert removed == 1, f"{name}: {pattern}"
        path.write_text(text)
    left = [
        p for p in package.rglob("*.py") if "v2_app" in p.read_text() or "api.v2" in p.read_text()
    ]
    assert left == []


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]))
