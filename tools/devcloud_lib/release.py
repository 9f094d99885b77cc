"""Builds a release, an sdist and a wheel, and tries the wheel in a clean environment.

Both are built of the last commit, in a clone that gives this commit the tag of the version. The
wheel is built from the sdist. It is installed with its extras ``server`` and ``cli`` and with
released packages only, and used from outside the repository. What is installed then is listed in an
SBOM beside the archives. In a second environment the wheel is installed with its extra ``cli``
alone.
"""

import configparser
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from devcloud_lib import limits, origins, shell
from devcloud_lib.console import Failure, say
from devcloud_lib.installer import Installer
from devcloud_lib.settings import REPOSITORY

_INSIDE = Path(__file__).resolve().parent / "inside"
_SMOKE, _LAPTOP = _INSIDE / "smoke.py", _INSIDE / "laptop.py"
#: Lists the packages of an environment as a software bill of materials in CycloneDX's form.
_SBOM_TOOL = "cyclonedx-bom==7.5.0"
#: Seconds for the checks.
_LIMIT = 300


def run(home: Path, builder: Path) -> bool:
    """Build, install and try a release. Return whether all of it succeeded.

    :param builder: a Python that has ``build``.
    """
    directory, log = home / "release", home / "log" / "release.log"
    shutil.rmtree(directory, ignore_errors=True)
    log.unlink(missing_ok=True)
    source, dist = directory / "source", directory / "dist"
    version = _clone(source, log)
    shell.run(["git", "-C", source, "tag", version], log)
    shell.run([builder, "-m", "build", "--outdir", dist, source], log)
    wheel = _checked(dist, version, source)
    installer = Installer(home / "uv", log)
    installer.make(directory / "venv")
    python = directory / "venv" / "bin" / "python"
    installer.install(directory / "venv", f"{wheel}[server,cli]")
    shell.run([python, "-m", "pip", "check"], log)
    complete = _tried([python, "-I", "-W", "ignore", _SMOKE, source / "setup.cfg"], directory)
    _list_packages(directory, installer, log, dist / f"warre-blazar-{version}.cdx.json")
    return _tried_on_laptop(wheel, directory, installer) and complete


def run_short(home: Path, builder: Path) -> bool:
    """Build a wheel, and try it in the environment of the tests. Return whether that succeeded.

    It is built in a clone of the last commit alone, which has neither tags nor a history. What the
    wheel holds takes the place of what that environment has. The commands alone are tried in an
    environment of their own.

    :param builder: the Python of that environment.
    """
    directory, log = home / "release-short", home / "log" / "release-short.log"
    shutil.rmtree(directory, ignore_errors=True)
    source, dist = directory / "source", directory / "dist"
    version = _clone(source, log, "--depth=1")
    shell.run([builder, "-m", "build", "--wheel", "--outdir", dist, source], log)
    wheel = _checked(dist, version, source)
    target = directory / "wheel"
    shell.run([builder, "-m", "zipfile", "-e", wheel, target], log)
    complete = _tried(
        [builder, "-W", "ignore", _SMOKE, source / "setup.cfg"],
        directory,
        {"PYTHONPATH": str(target)},
    )
    return _tried_on_laptop(wheel, directory, Installer(home / "uv", log)) and complete


def _clone(source: Path, log: Path, *options: str) -> str:
    """Clone the repository without its tags. Return the version of the next release."""
    clone = ["git", "clone", "--quiet", "--no-tags", *options, f"file://{REPOSITORY}"]
    shell.run([*clone, source], log)
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(source / "setup.cfg")
    return setup["metadata"]["version"]


def _checked(dist: Path, version: str, source: Path) -> Path:
    """Return the wheel, once all archives have the right version and hold the right files.

    :raises Failure: an archive has another version, or holds something else.
    """
    for path in sorted(dist.iterdir()):
        say(f"built {path.name}, {path.stat().st_size // 1024} KiB")
        if not path.name.startswith(
            f"warre_blazar-{version}{'-' if path.suffix == '.whl' else '.'}"
        ):
            raise Failure(f"{path.name} isn't version {version}")
        if wrong := origins.check(path, source):
            raise Failure("\n  ".join([f"{path.name} doesn't hold what it should:", *wrong]))
    return next(dist.glob("*.whl"))


def _list_packages(directory: Path, installer: Installer, log: Path, path: Path) -> None:
    """Write the list of what is installed together with the wheel.

    :raises Failure: the list lacks this package, or a package has no license.
    """
    installer.make(directory / "sbom")
    installer.install(directory / "sbom", _SBOM_TOOL)
    program = directory / "sbom" / "bin" / "cyclonedx-py"
    command = [program, "environment", directory / "venv", "--of", "JSON", "-o", path]
    shell.run(command, log)
    document = json.loads(path.read_text())
    parts = document["components"]
    unlicensed = [part["name"] for part in parts if not part.get("licenses")]
    if unlicensed or "warre-blazar" not in {part["name"] for part in parts}:
        raise Failure(f"{path.name} lacks warre-blazar, or the licenses of {unlicensed}")
    for part in parts:
        # The wheel came from a directory of this machine.
        references = part.pop("externalReferences", [])
        part["externalReferences"] = [r for r in references if not r["url"].startswith("file:")]
    path.write_text(json.dumps(document, indent=1))
    say(f"wrote {path.name} with {len(parts)} packages")


def _tried_on_laptop(wheel: Path, directory: Path, installer: Installer) -> bool:
    """Install a wheel with its extra ``cli`` alone, and run the checks of this environment."""
    installer.make(directory / "laptop")
    installer.install(directory / "laptop", f"{wheel}[cli]")
    return _tried([directory / "laptop" / "bin" / "python", "-I", _LAPTOP], directory)


def _tried(
    command: list[str | Path], directory: Path, variables: Mapping[str, str] | None = None
) -> bool:
    """Run the checks of a release outside the repository."""
    environment = {**os.environ, **(variables or {})}
    words = list(map(str, command))
    return limits.run(
        limits.Job("the release", words, _LIMIT, directory=directory, environment=environment)
    )
