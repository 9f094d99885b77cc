"""The packages that the server needs, and the versions of Blazar and SQLAlchemy that it works with.

The manager, the API and the programs import this module before any other module of this package. So
they stop with a clear message if the package was installed without its extra ``server``, or if a
version is too old. ``tools/test releases`` runs the tests with each supported version of Blazar.
"""

import importlib.metadata
import re

#: For each package, the oldest version with which warre-blazar works.
OLDEST = {"blazar": (17, 0), "SQLAlchemy": (2, 0)}

#: Major versions of Blazar with which ``tools/test releases`` runs the tests.
TESTED = (17, 18)

#: The first major version of Blazar whose processes don't use eventlet.
WITHOUT_EVENTLET = 18


_OF_SERVER = re.compile(r"""([\w.-]+).*\bextra == ["']server["']""")


class NotInstalled(ImportError):
    """A package of the extra ``server`` isn't installed."""


class Unsupported(ImportError):
    """An installed package is too old for warre-blazar."""


def version(package: str) -> tuple[int, int]:
    """The major and minor version of an installed package."""
    major, minor, *_ = importlib.metadata.version(package).split(".")
    return int(major), int(minor)


def check() -> None:
    """Check that the server's packages are installed, and that they are recent enough.

    :raises NotInstalled: a package isn't installed. The text says how to install it.
    :raises Unsupported: a package is too old. The text names the package and the version that is
        needed.
    """
    _check_installed()
    for package, oldest in OLDEST.items():
        if version(package) < oldest:
            installed = importlib.metadata.version(package)
            needed = ".".join(map(str, oldest))
            raise Unsupported(
                f"warre-blazar needs {package} {needed} or newer, but {package} {installed} is "
                "installed"
            )


def _check_installed() -> None:
    for requirement in importlib.metadata.requires("warre-blazar") or ():
        if found := _OF_SERVER.match(requirement):
            try:
                importlib.metadata.distribution(found[1])
            except importlib.metadata.PackageNotFoundError:
                raise NotInstalled(
                    f"warre-blazar's server needs packages that aren't installed, such as "
                    f"{found[1]}; install them with: pip install 'warre-blazar[server]'"
                ) from None
