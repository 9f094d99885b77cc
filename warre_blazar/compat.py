"""Which versions of what we are built on work.

``tools/test matrix`` runs tests with each of Blazar's. The manager and the API import this before
anything else of ours, so that a version that can't work is refused in so many words.
"""

import importlib.metadata

#: The oldest version of each that works.
OLDEST = {"blazar": (16, 0), "SQLAlchemy": (2, 0)}

#: Major versions of Blazar that all tests are run with; unit and database tests with older ones.
TESTED = (18,)


class Unsupported(ImportError):
    """This package doesn't work with what is installed."""


def version(package: str) -> tuple[int, int]:
    """Major and minor version of an installed package."""
    major, minor, *_ = importlib.metadata.version(package).split(".")
    return int(major), int(minor)


def check() -> None:
    """:raises Unsupported: saying what is too old, and what is needed."""
    for package, oldest in OLDEST.items():
        if version(package) < oldest:
            found = importlib.metadata.version(package)
            needed = ".".join(map(str, oldest))
            raise Unsupported(
                f"warre-blazar needs {package} {needed} or newer, and {package} {found} is here"
            )
