"""Prints how Kolla's images and Kolla-Ansible's configuration differ with and without our files.

``WARRE_DEPLOYERS_HOME`` must name the environments of ``tools/test deployers``, for example
``~/.cache/warre-blazar/test/deployers``. Run ``python -m tests.deployers.differences``.
"""

import difflib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from devcloud_lib import deployers

from tests.deployers import kolla_ansible, kolla_images

_SERVICES = ("blazar", "horizon")


def main() -> None:
    for release in deployers.RELEASES:
        with tempfile.TemporaryDirectory() as directory:
            for name, stock, ours in _files(release, Path(directory)):
                changed = list(_changes(stock, ours))
                added = sum(line.startswith("+") for line in changed)
                removed = sum(line.startswith("-") for line in changed)
                print(f"{release.name} {name}: {added} lines added, {removed} removed")
                print("".join(f"    {line}\n" for line in changed), end="")


def _files(release: deployers.Release, work: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """The name of each file, and its lines without and with our files."""
    stock = kolla_images.rendered(release.kolla, work / "stock", None)
    for name, image in kolla_images.rendered(release.kolla, work / "ours").items():
        yield f"image {name}", stock[name].instructions, image.instructions
    for service in _SERVICES:
        directory = work / service
        directory.mkdir()
        written = kolla_ansible.render(release.kolla_ansible, directory, {}, service)
        root = written[kolla_ansible.OURS]
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            name = str(path.relative_to(root))
            before = written[kolla_ansible.STOCK] / name
            yield name, before.read_text().splitlines(), path.read_text().splitlines()


def _changes(stock: list[str], ours: list[str]) -> Iterator[str]:
    """The lines that differ, with a sign before each."""
    for line in difflib.unified_diff(stock, ours, lineterm="", n=0):
        if not line.startswith(("---", "+++", "@@")):
            yield line


if __name__ == "__main__":
    main()
