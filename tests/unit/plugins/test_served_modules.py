"""What a process serves that loads a WSGI module by its name, as a web server does."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = pathlib.Path(__file__).parents[3]
#: Requests without a token: what a load balancer asks, and a lease that only this package refuses.
_SCRIPT = """
import importlib, io, json, sys
import webob
application = importlib.import_module(sys.argv[1]).application
found = []
for method, path, body in (
    ("OPTIONS", "/", b""),
    ("GET", "/v2/flavors", b""),
    ("GET", "/v2/other", b""),
    ("POST", "/v1/leases", b'{"events": [1]}'),
):
    request = webob.Request.blank(path, method=method, body=body)
    request.content_type = "application/json"
    answer = request.get_response(application)
    found.append([answer.status_int, len(answer.headers.getall("X-Warre-Blazar"))])
print(json.dumps(found))
"""
STOCK, OURS = "blazar.wsgi.api", "warre_blazar.wsgi.api"
SERVED = [[401, 1], [401, 1], [401, 1], [400, 1]]
_CONF = """
[DEFAULT]
transport_url = fake://
{more}
[manager]
plugins = {plugins}
[api]
api_v2_controllers = {controllers}
[database]
connection = sqlite:///{directory}/blazar.sqlite
[keystone_authtoken]
auth_type = password
auth_url = http://127.0.0.1:9/v3
username = blazar
password = secret
"""
_OTHER = """
from blazar.api.v2.controllers import extensions
print("made")
class Other(extensions.BaseController):
    name = "other"
    def _nothing(self, *_):
        pass
    get_one = get_all = post = put = delete = _nothing
"""


def load(
    directory: pathlib.Path,
    module: str,
    plugins: str = "flavor.slot.plugin",
    controllers: str = "oshosts,leases",
    more: str = "",
    script: str = _SCRIPT,
) -> subprocess.CompletedProcess[str]:
    """Load a module as a web server does, and send requests to its application."""
    values = {"plugins": plugins, "controllers": controllers, "more": more}
    (directory / "blazar.conf").write_text(_CONF.format(directory=directory, **values))
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, module],
        env={
            **os.environ,
            "OS_BLAZAR_CONFIG_DIR": str(directory),
            "PYTHONPATH": os.pathsep.join([str(directory), str(ROOT)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def answers(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("module", [STOCK, OURS])
def test_module_serves_everything_with_one_line(tmp_path: pathlib.Path, module: str):
    assert answers(load(tmp_path, module)) == SERVED


def test_blazar_without_the_plugin_has_no_checks(tmp_path: pathlib.Path):
    done = load(tmp_path, STOCK, plugins="physical.host.plugin")
    assert answers(done) == [[401, 0]] * 4


def test_controllers_of_a_former_release_are_no_errors(tmp_path: pathlib.Path):
    done = load(tmp_path, STOCK, controllers="flavors,reservations,warre,leases")
    assert answers(done) == SERVED
    assert "was not loaded" not in done.stdout + done.stderr
    unknown = load(tmp_path, STOCK, controllers="nonesuch,leases")
    assert "API Plugin nonesuch was not loaded" in unknown.stdout + unknown.stderr


def test_controller_of_another_package_is_served_behind_the_checks(tmp_path: pathlib.Path):
    (tmp_path / "other_package.py").write_text(_OTHER)
    metadata = tmp_path / "other_package-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1\n")
    group = "blazar.api.v2.controllers.extensions"
    (metadata / "entry_points.txt").write_text(f"[{group}]\nother = other_package:Other\n")
    done = load(tmp_path, STOCK, controllers="other,leases")
    assert answers(done) == SERVED
    assert "made" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"plugins": "physical.host.plugin"}, "it lacks flavor.slot.plugin"),
        ({"more": "enable_v1_api = false"}, "enable_v1_api is set to a value that can't be used: "),
    ],
)
def test_our_module_does_not_serve_blazar_without_checks(
    tmp_path: pathlib.Path, options: dict[str, str], said: str
):
    done = load(tmp_path, OURS, **options)
    assert done.returncode == 1
    assert said in done.stdout + done.stderr


def test_version_that_is_too_old_stops_blazar(tmp_path: pathlib.Path):
    old = (
        "import importlib.metadata as m\nreal = m.version\n"
        "m.version = lambda name: '16.0.0' if name == 'blazar' else real(name)\n"
    )
    done = load(tmp_path, STOCK, script=old + _SCRIPT)
    assert done.returncode == 1
    said = "warre-blazar needs blazar 17.0 or newer, but blazar 16.0.0 is installed"
    assert said in done.stdout + done.stderr
