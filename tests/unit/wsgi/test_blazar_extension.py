"""Blazar's own application serves this package's API as soon as its plugin is enabled."""

import ast
import importlib.metadata
import inspect
import json
import sys
import types
from typing import Any

import pecan
import pytest
from blazar.api import app as stock_app
from blazar.api.v1 import app as v1_app
from blazar.api.v2.controllers import extensions
from oslo_config import cfg
from stevedore import extension

from tests.unit.api import things
from tests.unit.api.people import Person
from tests.unit.wsgi import sending
from tests.unit.wsgi.whole import WholeSite
from warre_blazar import enforcement
from warre_blazar.errors import exceptions
from warre_blazar.wsgi import blazar_extension, checked_application, guard, request_threads


def version() -> str:
    """The version that is installed now. Other tests may install another one meanwhile."""
    return importlib.metadata.version("warre-blazar")


#: A path of this package, two of Blazar's own v2, one of its v1, and what they answer.
PATHS = {"/v2/flavors": 200, "/v2/leases": 200, "/v2/os-hosts": 403, "/v1/leases": 200}


def answered(app: Any) -> dict[str, int]:
    return {path: sending.send(app, "GET", path).status_int for path in PATHS}


def test_all_filters_follow_from_the_plugin(site: WholeSite):
    found = {type(each).__name__ for each in site._manager.enforcement.enabled_filters}
    assert found == set(enforcement.FILTERS)
    assert site.filters == ""


def test_controllers_follow_from_the_plugin(site: WholeSite):
    assert cfg.CONF.api.api_v2_controllers == ["oshosts", "leases"]
    assert answered(site.app) == PATHS


def test_blazar_without_the_plugin_stays_as_it_is(site: WholeSite):
    stock = site.stock_app()
    assert not isinstance(stock.v1, checked_application.Served)
    answer = sending.send(stock, "GET", "/v1/leases")
    assert answer.status_int == 200
    assert guard.HEADER not in answer.headers
    assert sending.send(stock, "GET", "/v2/flavors").status_int == 405


@pytest.mark.parametrize("named", ["flavors", "flavors,reservations,warre,oshosts,leases"])
def test_controllers_that_a_former_release_needed_are_ignored(site: WholeSite, named: str):
    """Blazar's root is imported already, as if another extension had done so before ours."""
    cfg.CONF.set_override("api_v2_controllers", named.split(","), group="api")
    try:
        assert answered(site._make_app()) == PATHS
        left = [name for name in named.split(",") if name in ("oshosts", "leases")]
        assert cfg.CONF.api.api_v2_controllers == left
    finally:
        cfg.CONF.clear_override("api_v2_controllers", group="api")


class Other(extensions.BaseController):
    """A controller of another package for Blazar's v2."""

    name = "other"

    @pecan.expose("json")
    def get_all(self) -> dict[str, bool]:
        return {"other": True}

    get_one = post = put = delete = get_all


def test_controller_of_another_package_is_served_behind_the_checks(
    site: WholeSite, monkeypatch: pytest.MonkeyPatch
):
    # Blazar makes its controllers when this is imported, by the configuration.
    from blazar.api import root  # noqa: PLC0415

    controllers = root.RootController.v2
    loaded = [
        *controllers.extension_manager.extensions,
        extension.Extension("other", None, Other, Other()),
    ]
    monkeypatch.setattr(controllers.extension_manager, "extensions", loaded)
    monkeypatch.setattr(controllers, "other", Other(), raising=False)
    answer = sending.send(site.app, "GET", "/v2/other")
    assert (answer.status_int, answer.json) == (200, {"other": True})
    assert sending.send(site.app, "GET", "/v2/other", who=None).status_int == 401
    assert sending.send(site.app, "GET", "/v2/other", who="unscoped").status_int == 403
    assert sending.send(site.app, "POST", "/v2/other", b"{").status_int == 400


def test_application_for_v1_serves_everything_without_blazars_selector(
    site: WholeSite, monkeypatch: pytest.MonkeyPatch
):
    """A Blazar without a v2 of its own needs no selector of versions."""
    monkeypatch.delattr(stock_app, "VersionSelectorApplication")
    assert answered(v1_app.make_app()) == PATHS


def test_import_can_not_fail_and_a_failure_stops_blazar(site: WholeSite):
    """stevedore skips an extension whose import fails, but not one whose call fails."""
    tree = ast.parse(inspect.getsource(blazar_extension))
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [node.module for node in imports if isinstance(node, ast.ImportFrom)] == ["typing"]
    assert len(imports) == 1
    cfg.CONF.set_override("pci_alias", ["{"], group="warre")
    try:
        with pytest.raises(exceptions.Misconfigured, match="pci_alias"):
            site._make_app()
    finally:
        cfg.CONF.clear_override("pci_alias", group="warre")


@pytest.mark.parametrize(
    ("option", "group", "value", "text"),
    [
        ("enable_v1_api", None, False, "enable_v1_api is .*: set it to true, or leave it out"),
        ("plugins", "manager", ["physical.host.plugin"], "it lacks flavor.slot.plugin"),
    ],
)
def test_what_keeps_blazar_from_loading_the_api_is_said(
    site: WholeSite, option: str, group: str | None, value: Any, text: str
):
    cfg.CONF.set_override(option, value, group=group)
    try:
        with pytest.raises(exceptions.Misconfigured, match=text):
            checked_application.require(site.app)
    finally:
        cfg.CONF.clear_override(option, group=group)


def test_application_that_lacks_the_extension_is_refused(site: WholeSite):
    """A clone that is installed with ``--editable`` can have the entry points of an old commit."""
    with pytest.raises(RuntimeError, match="install the package again"):
        checked_application.require(site.stock_app())


ANSWERS = [
    ("GET", "/v2/flavors", "alpha", 200),
    ("HEAD", "/v2/flavors", "alpha", 200),
    ("GET", "/v1/leases", "alpha", 200),
    ("GET", "/v2/leases", "alpha", 200),
    ("GET", "/", "alpha", 300),
    ("GET", "/", None, 401),
    # What load balancers ask for.
    ("OPTIONS", "/", None, 401),
    ("GET", "/v2/flavors", None, 401),
    ("GET", "/v2/leases", None, 401),
    ("POST", "/v1/leases", None, 400),
    ("POST", "/", "alpha", 405),
    ("GET", "/nothing", "alpha", 404),
    ("GET", "/v2/nothing", "alpha", 404),
    ("GET", "/v2", "alpha", 404),
    ("PUT", "/v2/leases", "alpha", 405),
    ("GET", "/v2/flavors", "unscoped", 403),
    ("GET", "/v2/stop-messages/x", None, 404),
]


@pytest.mark.parametrize(("method", "path", "who", "status"), ANSWERS)
def test_each_answer_says_once_who_serves(
    site: WholeSite, method: str, path: str, who: str | None, status: int
):
    answer = sending.send(site.app, method, path, who=who)
    assert answer.status_int == status
    assert answer.headers.getall(guard.HEADER) == [version()]


@pytest.mark.parametrize(
    ("module", "attributes", "shown"),
    [
        ("uwsgi", {"cores": 16}, "; threads=16"),
        ("mod_wsgi", {"threads_per_process": 1}, "; threads=1"),
        ("uwsgi", {}, ""),
    ],
)
def test_header_says_how_many_threads_serve(
    monkeypatch: pytest.MonkeyPatch, module: str, attributes: dict[str, int], shown: str
):
    monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**attributes))
    assert guard._served_by() == version() + shown


def test_program_that_serves_says_how_many_threads_it_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(request_threads, "_told", None)
    request_threads.tell(10)
    assert guard._served_by() == f"{version()}; threads=10"


PROXIES = {
    "none": ({}, "http://localhost"),
    "mounted": ({"SCRIPT_NAME": "/reservation"}, "http://localhost/reservation"),
    "headers": (
        {
            "HTTP_X_FORWARDED_HOST": "cloud.example.org:5943",
            "HTTP_X_FORWARDED_PROTO": "https",
            "HTTP_X_FORWARDED_PREFIX": "/reservation",
        },
        "https://cloud.example.org:5943/reservation",
    ),
    "RFC 7239": (
        {"HTTP_FORWARDED": "for=192.0.2.1;proto=https;host=cloud.example.org"},
        "https://cloud.example.org",
    ),
}


@pytest.mark.parametrize("path", ["/", "/versions", ""])
@pytest.mark.parametrize("proxy", PROXIES)
def test_links_of_versions_lead_to_where_the_client_came_from(
    site: WholeSite, proxy: str, path: str
):
    sent, root = PROXIES[proxy]
    answer = sending.send(site.app, "GET", path, environ=sent)
    assert (answer.status_int, answer.content_type) == (300, "application/json")
    found = {each["id"]: each for each in answer.json["versions"]}
    links = {name: each["links"] for name, each in found.items()}
    assert links == {
        name: [{"href": f"{root}/{name[:2]}", "rel": "self"}] for name in ("v1.0", "v2.0")
    }
    assert found["v1.0"]["status"] == "CURRENT"
    assert found["v1.0"]["max_version"]


def test_links_and_next_links_have_the_same_root(site: WholeSite):
    sent, root = PROXIES["headers"]
    query = {"QUERY_STRING": "limit=1"}
    for name in ("one", "two"):
        things.add_flavor(Person(site.app, "admin"), name=name)
    page = sending.send(site.app, "GET", "/v2/flavors", who="admin", environ={**sent, **query})
    assert page.json["next"].startswith(f"{root}/v2/flavors?limit=1&next=")


def test_prefix_that_is_not_utf_8_is_refused(site: WholeSite):
    for path in ("/", "/v2/flavors"):
        sent = {"HTTP_X_FORWARDED_PREFIX": "/\xff", "QUERY_STRING": "limit=1"}
        answer = sending.send(site.app, "GET", path, who="admin", environ=sent)
        assert answer.status_int < 500


def test_versions_are_not_shown_without_a_token(site: WholeSite):
    for who in (None, "stranger"):
        answer = sending.send(site.app, "GET", "/", who=who)
        assert answer.status_int == 401
        assert b"links" not in answer.body


def test_version_list_of_head_has_the_length_of_the_list(site: WholeSite):
    shown = sending.send(site.app, "GET", "/")
    head = sending.send(site.app, "HEAD", "/")
    assert (head.status_int, head.body) == (300, b"")
    assert head.headers["Content-Length"] == str(len(shown.body))
    assert json.loads(shown.body)["versions"]
