"""Who may import whom (design, "Layers"): the edges call services, these call the rest."""

import ast
import graphlib
import importlib.metadata
import pathlib
import sys

import pytest
from packaging.utils import canonicalize_name

import warre_blazar
from tests import requirements

ROOT = pathlib.Path(warre_blazar.__file__).parent
NAME = warre_blazar.__name__

EDGES = {
    "api",
    "cli",
    "cmd",
    "enforcement",
    "errors",
    "messengers",
    "plugins",
    "site_rules",
    "wsgi",
}
#: What may import the import of a Warre, which sites use once.
USERS_OF_WARRE_IMPORT = {"cmd.import_command", "services.audit.looking"}
#: What reads the configuration or the policy, beside the edges. ``openstack`` finds services by it.
CONFIGURATION = {"conf", "policy"}
#: Parts that are modules of the package ``errors``. Its other modules belong to the edges.
MODULES = {"errors.exceptions"}
#: What of ours a part may import; a part that isn't here may import all.
ALLOWED = {
    "errors.exceptions": {"texts"},
    "texts": {"texts"},
    "timer": set(),
    "times": set(),
    "domain": {"errors.exceptions", "fields", "times", "domain", "texts"},
    "fields": {"fields", "texts"},
    "client": {"timer", "fields", "client", "texts"},
    "cli": {"fields", "client", "cli", "texts"},
    "dashboard": {"client", "dashboard", "texts"},
}
FORBIDDEN = {
    "api": {"wsgi"},
    "errors": {"db", "openstack", "services"},
    "db": {"services", *EDGES, *CONFIGURATION},
    "openstack": {"services", *EDGES},
    "services": {*EDGES, *CONFIGURATION},
    "warre_import": {*EDGES, *CONFIGURATION},
}


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part(module):
    """The part of the package that a module is in: warre_blazar.db.flavors is in db."""
    inner = module.removeprefix(f"{NAME}.")
    return inner if inner in MODULES else inner.partition(".")[0]


def absolute(node, module, is_package):
    """The module that ``from ... import`` names, a relative one made absolute."""
    if not node.level:
        return node.module
    parents = module.split(".")[: None if is_package and node.level == 1 else -node.level]
    if is_package and node.level > 1:
        parents = module.split(".")[: -(node.level - 1)]
    return ".".join([*parents, node.module] if node.module else parents)


def imported_names(source, module, is_package=False):
    """The full names of what a module imports, wherever in its source it does."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(node, module, is_package)
            found |= {f"{origin}.{alias.name}" for alias in node.names}
    return found


def imported(source, module, is_package=False):
    """The parts of ours that a module imports."""
    found = imported_names(source, module, is_package)
    return {part(name) for name in found if name == NAME or name.startswith(f"{NAME}.")}


def violations(source, module, is_package=False):
    ours = imported(source, module, is_package)
    where = part(module)
    return (ours - ALLOWED.get(where, ours)) | (ours & FORBIDDEN.get(where, set()))


SOURCES = sorted(ROOT.rglob("*.py"))
#: What gets the values of options as arguments.
WITHOUT_OPTIONS = [
    path
    for path in SOURCES
    if part(module_name(path))
    in {"cli", "client", "dashboard", "db", "domain", "fields", "services"}
]


@pytest.mark.parametrize(
    "path", WITHOUT_OPTIONS, ids=[module_name(path) for path in WITHOUT_OPTIONS]
)
def test_does_not_read_the_configuration(path):
    names = imported_names(path.read_text(), module_name(path), path.name == "__init__.py")
    assert not [name for name in names if name.startswith("oslo_config")]


@pytest.mark.parametrize("path", SOURCES, ids=[module_name(path) for path in SOURCES])
def test_imports_nothing_above_it(path):
    found = violations(path.read_text(), module_name(path), path.name == "__init__.py")
    assert found == set()


#: The extras of the package that bring what a part may import, beside the requirements of all.
OF_USERS = {"client": (), "fields": (), "texts": (), "timer": (), "cli": ("cli",)}
MODULES_OF = importlib.metadata.packages_distributions()
SOURCES_OF_USERS = [path for path in SOURCES if part(module_name(path)) in OF_USERS]


def not_brought(source, module, is_package=False):
    """The modules that a module imports, and that no requirement of its part brings."""
    brought = {"", *OF_USERS[part(module)]}
    wanted = {canonicalize_name(each.name) for extra in brought for each in requirements.of(extra)}
    tops = {name.partition(".")[0] for name in imported_names(source, module, is_package)}
    return {
        top
        for top in tops - sys.stdlib_module_names - {NAME}
        if not wanted & {canonicalize_name(name) for name in MODULES_OF.get(top, [])}
    }


@pytest.mark.parametrize("path", SOURCES_OF_USERS, ids=map(module_name, SOURCES_OF_USERS))
def test_users_need_only_the_packages_that_they_install(path):
    assert not not_brought(path.read_text(), module_name(path), path.name == "__init__.py")


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        pytest.param("client.x", "import oslo_utils.timeutils", {"oslo_utils"}, id="server"),
        pytest.param("client.x", "from rich import text", {"rich"}, id="only for commands"),
        pytest.param("cli.x", "def f():\n    import wsme", {"wsme"}, id="late"),
        pytest.param("cli.x", "from rich import text", set(), id="for commands"),
        pytest.param("client.x", "from keystoneauth1 import session", set(), id="of all"),
    ],
)
def test_package_that_is_not_brought_is_found(module, source, found):
    assert not_brought(source, f"{NAME}.{module}") == found


def test_import_of_a_warre_can_be_deleted_one_day():
    users = set()
    for path in SOURCES:
        name, is_package = module_name(path), path.name == "__init__.py"
        if "warre_import" in imported(path.read_text(), name, is_package) - {part(name)}:
            users.add(name.removeprefix(f"{NAME}."))
    assert users == USERS_OF_WARRE_IMPORT


ROOMS = {path.name for path in (ROOT / "services").iterdir() if (path / "__init__.py").exists()}


def rooms_that(room):
    """The other rooms of ``services`` whose modules a room imports."""
    found = set()
    for path in (ROOT / "services" / room).rglob("*.py"):
        is_package = path.name == "__init__.py"
        for name in imported_names(path.read_text(), module_name(path), is_package):
            if name.startswith(f"{NAME}.services."):
                found.add(name.split(".")[2])
    return (found & ROOMS) - {room}


def test_rooms_of_services_form_no_cycle():
    assert rooms_that("booking") >= {"hosts"}
    order = graphlib.TopologicalSorter({room: rooms_that(room) for room in ROOMS})
    assert len(list(order.static_order())) == len(ROOMS)


def imported_modules(sources):
    """The modules of ours that each module imports, by name.

    :param sources: for each name: the source, and whether it is a package's.
    """
    found = {}
    for name, (source, is_package) in sources.items():
        names = imported_names(source, name, is_package)
        modules = {each if each in sources else each.rpartition(".")[0] for each in names}
        found[name] = (modules & sources.keys()) - {name}
    return found


def circle(sources):
    """Modules of which each imports the next one, and the last one the first, or None."""
    try:
        graphlib.TopologicalSorter(imported_modules(sources)).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None


def test_modules_import_each_other_in_no_circle():
    sources = {module_name(p): (p.read_text(), p.name == "__init__.py") for p in SOURCES}
    assert circle(sources) is None


def test_a_circle_is_found():
    sources = {
        f"{NAME}.a": (f"from {NAME} import b", False),
        f"{NAME}.b": (f"def f():\n    from {NAME}.c import g", False),
        f"{NAME}.c": ("from . import a", False),
    }
    assert set(circle(sources)) == sources.keys()


@pytest.mark.parametrize("name", sorted({*ALLOWED, *FORBIDDEN, *EDGES}))
def test_the_parts_are_there(name):
    assert any(part(module_name(path)) == name for path in SOURCES)


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        pytest.param("domain.x", "from warre_blazar.db import flavors", {"db"}, id="from"),
        pytest.param("domain.x", "import warre_blazar.conf", {"conf"}, id="import"),
        pytest.param("domain.x", "import os, warre_blazar.db as d", {"db"}, id="import as"),
        pytest.param("domain.x", "from warre_blazar import conf", {"conf"}, id="from the top"),
        pytest.param("domain.x", "from .. import policy", {"policy"}, id="relative"),
        pytest.param("domain.x", "from ..db.flavors import find", {"db"}, id="relative, deeper"),
        pytest.param("domain.x", "def f():\n    import warre_blazar.db", {"db"}, id="late"),
        pytest.param("db.x.y", "from ...services import limits", {"services"}, id="from deep down"),
        pytest.param("db.x", "from warre_blazar.services import limits", {"services"}, id="db"),
        pytest.param("openstack.x", "from warre_blazar import api", {"api"}, id="openstack"),
        pytest.param("services.x", "from warre_blazar.plugins import errors", {"plugins"}, id="up"),
        pytest.param("services.x", "import warre_blazar.cli.base", {"cli"}, id="to the CLI"),
        pytest.param(
            "errors.exceptions", "from warre_blazar import domain", {"domain"}, id="exceptions"
        ),
        pytest.param(
            "cli.x", "from warre_blazar.domain import labels", {"domain"}, id="CLI to the server"
        ),
        pytest.param(
            "dashboard.x", "from warre_blazar.policies import offers", {"policies"}, id="dashboard"
        ),
        pytest.param("fields.x", "from warre_blazar import domain", {"domain"}, id="fields"),
        pytest.param(
            "errors.exceptions", "from .. import conf", {"conf"}, id="exceptions, relative"
        ),
    ],
)
def test_a_violation_is_found(module, source, found):
    assert violations(source, f"{NAME}.{module}") == found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("domain", "from . import rules", id="package, itself"),
        pytest.param("domain", "from .rules import check_period", id="package, its module"),
        pytest.param("domain.x.y", "from .. import timeline", id="package, up to the part"),
    ],
)
def test_a_relative_import_within_is_fine(module, source):
    assert violations(source, f"{NAME}.{module}", is_package=True) == set()


def test_a_package_that_looks_above_itself_is_found():
    assert violations("from .. import conf", f"{NAME}.domain", is_package=True) == {"conf"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("domain.x", "from warre_blazar.errors import exceptions", id="exceptions"),
        pytest.param("domain.x", "from warre_blazar.domain.timeline import Span", id="domain"),
        pytest.param("domain.x", "import warre_blazar_other.db", id="another's"),
        pytest.param("db.x", "from warre_blazar.domain import states", id="db to domain"),
        pytest.param("services.x", "from warre_blazar.openstack import nova", id="down"),
        pytest.param("api.x", "from warre_blazar.services import limits", id="edge to services"),
    ],
)
def test_allowed_import_is_no_violation(module, source):
    assert violations(source, f"{NAME}.{module}") == set()
