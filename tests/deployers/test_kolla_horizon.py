"""Horizon starts with Kolla-Ansible's settings and the changes of our image, and has our pages."""

import http.client
import shutil
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from devcloud_lib import readiness
from devcloud_lib.layout import Layout

from tests.deployers import environments, kolla_ansible
from tests.deployers.containers import Container
from tests.deployers.kolla_images import Image

pytestmark = pytest.mark.slow
_SETTINGS = "/etc/openstack-dashboard"
#: What the image's own script does whenever a container of it starts with new settings.
_AT_START = """
mkdir -p /var/log/kolla/horizon
export DJANGO_SETTINGS_MODULE=openstack_dashboard.settings
python -m django collectstatic --noinput --clear
python -m django compress --force
"""


@pytest.fixture(scope="module")
def container(
    images: dict[str, Image], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Container]:
    """A container of Horizon, as its image leaves it."""
    environment = environments.home() / "horizon"
    made = Container(tmp_path_factory.mktemp("horizon") / "root", environment)
    packages = made.path("/var/lib/kolla/venv/lib/python3/site-packages")
    local = packages / "openstack_dashboard" / "local"
    # As Kolla's own steps do in the image.
    shutil.copy(local / "local_settings.py.example", made.path(f"{_SETTINGS}/local_settings.py"))
    made.path(f"{_SETTINGS}/local_settings.d").mkdir()
    for name in ("local_settings.py", "local_settings.d"):
        if (local / name).is_dir() and not (local / name).is_symlink():
            shutil.rmtree(local / name)
        (local / name).unlink(missing_ok=True)
        (local / name).symlink_to(made.path(f"{_SETTINGS}/{name}"))
    # pip has made a link to this repository elsewhere.
    if not (packages / "warre_blazar").exists():
        (packages / "warre_blazar").symlink_to(environments.REPOSITORY / "warre_blazar")
    for command in images["horizon"].commands("warre_blazar/dashboard"):
        made.run(command)
    yield made
    for page in (local / "enabled").glob("_9*.py"):
        page.unlink()


@pytest.fixture(scope="module")
def port(
    container: Container, layout: Layout, written_for_horizon: dict[str, Path], tmp_path_factory
) -> Iterator[int]:
    """The port on which Horizon answers."""
    written = written_for_horizon[kolla_ansible.OURS] / "horizon"
    command = container.copy_configuration(written)
    container.run(_AT_START)
    log = tmp_path_factory.mktemp("log") / "horizon.log"
    found = layout.ports.dashboard
    with container.running(command, log) as process:
        answers = readiness.Http(f"http://127.0.0.1:{found}/project/find_reservations/").answers
        readiness.wait_until(answers, lambda: process.poll() is not None, "horizon")
        yield found


@pytest.mark.parametrize("page", ["project/find_reservations", "admin/reservable_flavors"])
def test_page_asks_for_a_login(port, page):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", f"/{page}/")
    answer = connection.getresponse()
    login = urllib.parse.urlsplit(answer.headers["Location"])
    assert (answer.status, login.path, login.query) == (302, "/auth/login/", f"next=/{page}/")
