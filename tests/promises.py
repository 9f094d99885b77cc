"""Everything that releases promise to keep, one line each.

``python -m tests.promises > tests/promises.txt`` records the lines of a release.
"""

import argparse
import inspect
import json
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import prometheus_client
from cliff import lister, show
from keystoneauth1 import session
from oslo_utils import importutils

from tests import requirements
from warre_blazar import client, conf, enforcement, policies, texts
from warre_blazar.api import openapi
from warre_blazar.cli import base
from warre_blazar.cmd import manage, metrics_command
from warre_blazar.cmd.metric_families import Collector
from warre_blazar.domain.audit.differences import DifferenceKind
from warre_blazar.errors import statuses
from warre_blazar.texts.entries import Entry, places

RECORDED = pathlib.Path(__file__).with_name("promises.txt")
_PAYLOADS = requirements.SETUP.parent / "doc/source/api/notifications.json"
#: The entry points whose names operators or users write. Those of commands are in ``_commands``.
_NAMES = ("console_scripts", "blazar.resource.plugins", "warre_blazar.messengers")


def promised() -> set[str]:
    """What this version keeps."""
    parts = (_api, _codes, _commands, _manage, _options, _policies, _metrics, _payloads, _client)
    return {line for part in (*parts, _audit, _named) for line in part()}


def _schema(name: str, schema: Any) -> Iterator[str]:
    """The types, fields and words of a JSON schema. A field that may be missing has a ``?``."""
    if reference := schema.get("$ref"):
        yield f"{name} is a {reference.rpartition('/')[2]}"
    if kinds := schema.get("type"):
        yield f"{name} is {kinds if isinstance(kinds, str) else ' or '.join(sorted(kinds))}"
    yield from (f"{name} may be {json.dumps(word)}" for word in schema.get("enum", ()))
    for among in ("allOf", "anyOf", "oneOf"):
        for other in schema.get(among, ()):
            yield from _schema(name, other)
    for field, inner in schema.get("properties", {}).items():
        mark = "" if field in schema.get("required", ()) else "?"
        yield from _schema(f"{name}.{field}{mark}", inner)
    for key, part in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(inner := schema.get(key), dict):
            yield from _schema(f"{name}{part}", inner)


def _api() -> Iterator[str]:
    document = openapi.document()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            name = f"api {method.upper()} {path}"
            yield name
            for each in operation.get("parameters", ()):
                needed = "needs" if each.get("required") else "takes"
                yield f"{name} {needed} {each['in']} {each['name']}"
            yield from _bodies(f"{name} takes a body that", operation.get("requestBody", {}))
            # A refusal may go. What the codes of errors are is in ``_codes``.
            answers = operation["responses"].items()
            for status, answer in ((status, a) for status, a in answers if status < "4"):
                yield from _bodies(f"{name} answers {status} that", answer)
                yield from (f"{name} answers {status} with {h}" for h in answer.get("headers", ()))
    for name, schema in document["components"]["schemas"].items():
        yield from _schema(f"api {name}", schema)


def _bodies(name: str, described: Any) -> Iterator[str]:
    for kind, content in described.get("content", {}).items():
        shown = "" if kind == "application/json" else f" as {kind}"
        yield from _schema(f"{name}{shown}", content.get("schema", {}))


def _codes() -> Iterator[str]:
    for listed, kind in ((texts.ERRORS, "error"), (texts.WARNINGS, "warning")):
        for (code, reason), entry in listed.items():
            name = f"{kind} {code}" + (f" of reason {reason}" if reason else "")
            yield name
            yield from (f"{name} has {datum}" for datum in sorted(_data(entry)))

    for code in {code for code, _ in texts.ERRORS}:
        yield f"error {code} has status {statuses.in_controllers(code, 'POST')}"


def _data(entry: Entry) -> set[str]:
    return {*places(entry.template), *entry.also.split()}


def _commands() -> Iterator[str]:
    in_blazar = {path: name for name, path in _entry_points("blazar.cli")}
    for key, path in _entry_points("openstack.reservation.v1"):
        name = f"command openstack {key.replace('_', ' ')}"
        yield f"{name} is blazar {in_blazar[path]}"
        command = importutils.import_class(path.replace(":", "."))
        parser = command(SimpleNamespace(client_manager=None), None).get_parser(name)
        yield from sorted({*_arguments(name, parser)} - _cliffs(name))
        yield from (f"{name} has column {column}" for column in _columns(command))


def _cliffs(name: str) -> set[str]:
    """The arguments that each command of cliff has."""
    kinds = (lister.Lister, show.ShowOne)
    parsers = [
        type("", (kind,), {"take_action": None})(None, None).get_parser("") for kind in kinds
    ]
    return {line for parser in parsers for line in _arguments(name, parser)}


def _columns(command: type) -> set[str]:
    """The columns of a command that lists: those of its class, and those that its module names."""
    if not issubclass(command, base.ListCommand):
        return set()
    declared = [*getattr(command, "columns", ()), *getattr(command, "long", ())]
    if not declared:
        named = vars(inspect.getmodule(command)).items()
        found = [value for name, value in named if name.endswith("COLUMNS")]
        found = [c for each in found for c in (each.values() if isinstance(each, dict) else [each])]
        declared = [column for columns in found for column in columns]
    return set(declared)


def _arguments(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield f"{name} {word}"
                yield from _arguments(f"{name} {word}", inner)
            continue
        kind = "an option" if action.nargs == 0 else "a value"
        for flag in action.option_strings:
            yield f"{name} takes {flag}, {kind}" + (", always" if action.required else "")
        for word in action.choices or ():
            yield f"{name} takes {(action.option_strings or [action.dest])[0]} {word}"
        if not action.option_strings:
            yield f"{name} takes argument {action.dest}, {action.nargs or 'one'}"


def _manage() -> Iterator[str]:
    root = argparse.ArgumentParser(add_help=False)
    manage._add_parsers(root.add_subparsers())
    yield from _arguments("command warre-blazar-manage", root)


def _options() -> Iterator[str]:
    for group, options in conf.list_opts():
        for each in options:
            # A release may widen the bounds of a number.
            yield f"option [{group}] {each.name} is {re.sub(r'[(].*[)]', '', str(each.type))}"
            words = getattr(getattr(each.type, "item_type", each.type), "choices", None) or ()
            yield from (f"option [{group}] {each.name} may be {word}" for word in words)


def _policies() -> Iterator[str]:
    yield from (f"policy {rule.name}" for rule in policies.list_rules())


def _metrics() -> Iterator[str]:
    for name, (kind, labels) in metrics().items():
        yield f"metric {name} is {kind}"
        yield from (f"metric {name} has label {label}" for label in labels)


def metrics() -> dict[str, tuple[str, tuple[str, ...]]]:
    """By name as Prometheus shows it, the type and the labels of each metric."""
    registry = prometheus_client.CollectorRegistry()
    collector = Collector(metrics_command._read)
    registry.register(collector)
    return {
        f"{metric.name}_total" if metric.type == "counter" else metric.name: (
            metric.type,
            tuple(metric._labelnames),
        )
        for metric in collector.describe()
    }


def _payloads() -> Iterator[str]:
    document = json.loads(_PAYLOADS.read_text())
    for name, schema in document["$defs"].items():
        yield from _schema(f"notification {name}", schema)


def _client() -> Iterator[str]:
    for name, collection in vars(client.Client(session.Session())).items():
        if name != "transport":
            yield from _methods(name, type(collection))


def _methods(name: str, kind: type) -> Iterator[str]:
    for method, function in inspect.getmembers(kind, inspect.isfunction):
        if not method.startswith("_"):
            yield f"client {name}.{method}"
            for parameter in inspect.signature(function).parameters.values():
                if parameter.name != "self":
                    needed = parameter.default is parameter.empty
                    is_one = parameter.kind is not parameter.VAR_KEYWORD
                    said = "needs" if needed and is_one else "takes"
                    yield f"client {name}.{method} {said} {parameter.name}"


def _audit() -> Iterator[str]:
    yield from (f"audit finds {kind.label}" for kind in DifferenceKind)


def _named() -> Iterator[str]:
    for group in _NAMES:
        yield from (f"{group} {name}" for name, _ in _entry_points(group))
    yield from (f"filter {kind.__name__}" for kind in enforcement._CLASSES)


def _entry_points(group: str) -> Iterable[tuple[str, str]]:
    for line in requirements.read_setup()["entry_points"][group].strip().splitlines():
        name, _, path = line.partition(" = ")
        yield name, path


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in sorted(promised()))
