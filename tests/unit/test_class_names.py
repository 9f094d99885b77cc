"""One name for one thing: a class name is used once, by the server and by its clients."""

import ast
import pathlib
from collections import Counter, defaultdict

import warre_blazar

ROOT = pathlib.Path(warre_blazar.__file__).parent
CLIENTS = {"client", "cli"}
#: What both the server and its clients have a class of.
SHARED = {"Flavor", "Reservation", "Span", "Wait"}


def side(path: pathlib.Path) -> str:
    room = path.relative_to(ROOT).parts[0]
    return "clients" if room in CLIENTS else "fields" if room == "fields" else "server"


def public_classes() -> dict[str, Counter[str]]:
    """How often each side uses each name."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[side(path)][node.name] += 1
    return found


def test_class_name_means_one_thing() -> None:
    by_side = public_classes()
    assert {side: n for side, names in by_side.items() for n in names if names[n] > 1} == {}
    of_all = Counter(name for names in by_side.values() for name in names)
    assert {name for name, sides in of_all.items() if sides > 1} == SHARED
