"""What works, and what is said, on machines that have only a part of the package's requirements."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable, Iterator

import pytest
from packaging.requirements import Requirement

from tests import requirements

pytestmark = pytest.mark.slow

_ROOT = requirements.SETUP.parent
#: The packages of [server] that Blazar doesn't require.
_NOT_BLAZARS = {"cheroot", "jsonschema", "oslo.limit", "os-resource-classes", "os-traits"}


def closure(wanted: Iterable[Requirement]) -> dict[str, importlib.metadata.Distribution]:
    """The distributions that pip installs for some requirements, by their names."""
    found: dict[str, importlib.metadata.Distribution] = {}
    left = list(wanted)
    while left:
        requirement = left.pop()
        if requirement.name not in found or requirement.extras:
            found[requirement.name] = importlib.metadata.distribution(requirement.name)
            left += _requirements(found[requirement.name], requirement.extras)
    return found


def _requirements(
    distribution: importlib.metadata.Distribution, extras: set[str]
) -> Iterator[Requirement]:
    for requirement in map(Requirement, distribution.requires or ()):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            yield requirement


def machine(directory: pathlib.Path, wanted: Iterable[Requirement]) -> pathlib.Path:
    """Make a directory with this package and with what pip installs for some requirements."""
    for distribution in closure(wanted).values():
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            link = directory / top
            if not link.exists():
                link.symlink_to(distribution.locate_file(top))
    (directory / "warre_blazar").symlink_to(_ROOT / "warre_blazar")
    ours = importlib.metadata.distribution("warre-blazar")
    metadata = directory / "warre_blazar-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(ours.read_text("METADATA") or ours.read_text("PKG-INFO"))
    (metadata / "entry_points.txt").write_text(ours.read_text("entry_points.txt"))
    return directory


def run(directory: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with only the packages of a directory."""
    # Without the module site, Python sees no packages of its environment.
    env = {
        **os.environ,
        "PYTHONPATH": str(directory),
        "PYTHONSAFEPATH": "1",
        "HOME": str(directory),
    }
    command = [sys.executable, "-S", "-W", "ignore", *words]
    return subprocess.run(
        command, cwd=directory, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A machine where the package was installed without extras."""
    return machine(tmp_path_factory.mktemp("bare"), requirements.of())


@pytest.fixture(scope="module")
def laptop(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A machine where the package was installed with its extra ``cli``."""
    return machine(tmp_path_factory.mktemp("laptop"), [*requirements.of(), *requirements.of("cli")])


@pytest.fixture(scope="module")
def blazar(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A machine with Blazar, where the package was installed without its extra ``server``."""
    wanted = [*requirements.of(), *requirements.of("server")]
    return machine(
        tmp_path_factory.mktemp("blazar"), [w for w in wanted if w.name not in _NOT_BLAZARS]
    )


def test_client_needs_no_extra(bare: pathlib.Path) -> None:
    done = run(bare, "-c", "import warre_blazar.client, warre_blazar.client.calendar_file")
    assert (done.stderr, done.returncode) == ("", 0)


def test_commands_work_without_the_server(laptop: pathlib.Path) -> None:
    done = run(laptop, "-m", "openstackclient.shell", "reservation", "flavor", "list", "--help")
    assert (done.stderr, done.returncode) == ("", 0)
    assert "--long" in done.stdout


@pytest.mark.parametrize("program", ["api", "manage", "status"])
@pytest.mark.parametrize("place", ["laptop", "blazar"])
def test_program_of_the_server_says_which_extra_it_needs(
    place: str, program: str, request: pytest.FixtureRequest
) -> None:
    done = run(request.getfixturevalue(place), "-m", f"warre_blazar.cmd.{program}", "--help")
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.endswith("install them with: pip install 'warre-blazar[server]'")


def test_manager_of_blazar_says_which_extra_it_needs(blazar: pathlib.Path) -> None:
    program = """if True:
        import logging
        from blazar.manager import service
        from oslo_config import cfg
        logging.basicConfig(format="%(message)s")
        cfg.CONF(["--config-file", "blazar.conf"], project="blazar")
        service.ManagerService()
    """
    (blazar / "blazar.conf").write_text("[manager]\nplugins = flavor.slot.plugin\n")
    done = run(blazar, "-c", program)
    assert done.returncode == 1
    logged = [line for line in done.stderr.splitlines() if "'flavor.slot.plugin'" in line]
    assert logged[0].startswith("Could not load 'flavor.slot.plugin': ")
    assert logged[0].endswith("install them with: pip install 'warre-blazar[server]'")


def test_api_of_blazar_says_which_extra_it_needs(blazar: pathlib.Path) -> None:
    extension = "from warre_blazar.wsgi import blazar_extension as extension"
    # stevedore skips an extension whose import fails. The call must fail.
    assert run(blazar, "-c", extension).returncode == 0
    done = run(blazar, "-c", f"{extension}; extension.load()")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.endswith("install them with: pip install 'warre-blazar[server]'")
