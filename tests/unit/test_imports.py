"""Which part of the package may import which (design, Flow)."""

import ast
import pathlib

import pytest

import warre_blazar

_ROOT = pathlib.Path(warre_blazar.__file__).parent
_EDGES = {"api", "plugins", "enforcement", "cli", "cmd", "policy", "policies"}
#: What each part must not import.
_FORBIDDEN = {
    "domain": _EDGES | {"services", "db", "clients", "conf"},
    "db": _EDGES | {"services", "clients"},
    "clients": _EDGES | {"services", "db"},
    "services": _EDGES,
    "exceptions": _EDGES | {"services", "db", "clients", "domain", "conf"},
    "policies": _EDGES - {"policies"} | {"services", "db", "clients", "domain"},
}


def imported_parts(source: str) -> set[str]:
    """The parts of our package that a module imports, wherever in it."""
    parts = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            words = node.module.split(".")
            names = words[1:2] or [alias.name for alias in node.names]
            parts |= set(names) if words[0] == "warre_blazar" else set()
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            parts |= {words[1] for words in names if words[0] == "warre_blazar" and words[1:]}
    return parts


def part_of(path: pathlib.Path) -> str:
    return path.relative_to(_ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("part", _FORBIDDEN)
def test_part_imports_only_what_it_may(part: str) -> None:
    modules = [path for path in _ROOT.rglob("*.py") if part_of(path) == part]
    assert modules
    wrong = {
        str(path): found
        for path in modules
        if (found := imported_parts(path.read_text()) & _FORBIDDEN[part])
    }
    assert not wrong


@pytest.mark.parametrize(
    "line",
    [
        "from warre_blazar.services import flavors",
        "from warre_blazar import services",
        "import warre_blazar.services.flavors",
        "def f():\n    from warre_blazar.services.flavors import get",
    ],
)
def test_a_wrong_import_is_seen(line: str) -> None:
    assert imported_parts(line) & _FORBIDDEN["domain"] == {"services"}
