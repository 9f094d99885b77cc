"""Stamps: files that record finished work, which isn't repeated while its inputs are the same."""

import hashlib
from pathlib import Path


def digest(*parts: str | Path) -> str:
    """Return a short hash of texts and of the contents of files. A missing file counts as empty."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(_bytes(part)).digest())
    return total.hexdigest()[:20]


def _bytes(part: str | Path) -> bytes:
    if isinstance(part, Path):
        return part.read_bytes() if part.exists() else b""
    return part.encode()


class Stamps:
    """The stamps of one cloud. Each is a small file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def current(self, name: str, value: str) -> bool:
        """Whether the work was done with these inputs."""
        path = self._directory / name
        return path.exists() and path.read_text() == value

    def set(self, name: str, value: str) -> None:
        """Record that the work was done with these inputs."""
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / name).write_text(value)
