"""What setup.cfg and requirements.txt require."""

import configparser
from pathlib import Path

from packaging.requirements import Requirement

SETUP = Path(__file__).resolve().parents[1] / "setup.cfg"


def read_setup() -> configparser.ConfigParser:
    """Return what setup.cfg says."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(SETUP)
    return setup


def extras() -> list[str]:
    """Return the names of the package's extras."""
    return list(read_setup()["extras"])


def of(extra: str = "") -> list[Requirement]:
    """Return the requirements of an extra, or of the package itself."""
    text = (
        read_setup()["extras"][extra] if extra else SETUP.with_name("requirements.txt").read_text()
    )
    return [Requirement(line) for line in text.split()]
