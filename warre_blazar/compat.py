"""The versions of Blazar and SQLAlchemy that this package works with.

The manager and the API import this module before any other module of this package. So they stop
with a clear message if a version is too old. ``tools/test matrix`` runs the tests with each
supported version of Blazar.
"""

import importlib.metadata

#: For each package, the oldest version with which warre-blazar works.
OLDEST = {"blazar": (17, 0), "SQLAlchemy": (2, 0)}

#: Major versions of Blazar with which all tests are run. With older versions, only the unit tests
#: and the database tests are run.
TESTED = (18,)


class Unsupported(ImportError):
    """An installed package is too old for warre-blazar."""


def version(package: str) -> tuple[int, int]:
    """The major and minor version of an installed package."""
    major, minor, *_ = importlib.metadata.version(package).split(".")
    return int(major), int(minor)


def check() -> None:
    """Check that the installed packages are recent enough.

    :raises Unsupported: a package is too old. The text names the package and the version that is
        needed.
    """
    for package, oldest in OLDEST.items():
        if version(package) < oldest:
            installed = importlib.metadata.version(package)
            needed = ".".join(map(str, oldest))
            raise Unsupported(
                f"warre-blazar needs {package} {needed} or newer, but {package} {installed} is "
                "installed"
            )
