"""The page about the Python client shows every method, with arguments that the method has."""

import ast
import inspect
import pathlib
import re
import textwrap

import pytest

from warre_blazar.client import Client, errors, reservations, resources, series, waits

PAGE = pathlib.Path(__file__).parents[3] / "doc/source/reference/client.rst"
#: The class behind each attribute of the client.
CLASSES = {
    "flavors": resources.Flavors,
    "reservations": reservations.Reservations,
    "series": series.AllSeries,
    "access": resources.AccessRights,
    "windows": resources.Windows,
    "limits": resources.ProjectLimits,
    "hosts": resources.Hosts,
    "usage": resources.ProjectUsage,
    "refusals": resources.Refusals,
    "messages": resources.MessageSettings,
    "offers": resources.Offerings,
    "waits": waits.Waits,
    "shares": resources.Shares,
    "calendars": resources.Calendars,
    "audit": resources.Audits,
}
METHODS = sorted(
    (attribute, name)
    for attribute, cls in CLASSES.items()
    for name, _ in inspect.getmembers(cls, inspect.isfunction)
    if not name.startswith("_")
)


def blocks() -> list[str]:
    """The examples, each as Python code."""
    found = re.findall(r"::\n\n((?:(?: {4}.*)?\n)+)", PAGE.read_text())
    return [textwrap.dedent(block) for block in found]


def calls() -> list[tuple[str, str, ast.Call]]:
    """The calls of methods in the examples: the client's attribute, the method, and the call."""
    return [
        (node.func.value.attr, node.func.attr, node)
        for block in blocks()
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Attribute)
        and isinstance(node.func.value.value, ast.Name)
        and node.func.value.value.id == "client"
    ]


def test_client_has_these_attributes():
    made = Client(session=type("Session", (), {"timeout": 1})())
    assert {name: type(getattr(made, name)) for name in CLASSES} == CLASSES
    assert set(vars(made)) == {*CLASSES, "transport"}


@pytest.mark.parametrize(("attribute", "method"), METHODS)
def test_method_has_an_example(attribute: str, method: str):
    assert (attribute, method) in {(a, m) for a, m, _ in calls()}


def test_arguments_in_examples_exist():
    for attribute, method, call in calls():
        signature = inspect.signature(getattr(CLASSES[attribute], method))
        named = {keyword.arg: None for keyword in call.keywords}
        signature.bind(None, *([None] * len(call.args)), **named)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, cls in vars(errors).items()
        if inspect.isclass(cls) and issubclass(cls, errors.ClientError)
    ],
)
def test_error_is_on_the_page(name: str):
    assert f"``{name}``" in PAGE.read_text() or f"``errors.{name}``" in PAGE.read_text()
