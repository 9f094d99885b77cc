#!/usr/bin/env python3
"""A fake of the program ``openstack``, with the commands that the devstack plugin uses.

Its data are in the JSON file that ``FAKE_KEYSTONE`` names, as lists by the kind of thing. A thing
that another thing depends on can't be deleted. The fake refuses what real clients refuse:
credentials in the environment beside ``--os-cloud``, and ``limit list --service``, which sends
Keystone a wrong query in python-openstackclient 9.0 to 10.2. A command that
``FAKE_KEYSTONE_REFUSES`` names fails.
"""

import json
import os
import pathlib
import sys
import uuid
from typing import Any

Thing = dict[str, str]
#: Options that say what is printed. The plugin asks for ids only, of lists and of what it makes.
_OUTPUT = {"-f", "-c"}
_COLUMNS = {
    "Type": "name",
    "Role": "name",
    "Resource Name": "resource-name",
    "Region ID": "region",
}


def parse(words: list[str]) -> tuple[list[str], Thing, list[str]]:
    """Parse the words of a command line.

    :returns: the plain words, the options by name, and the columns to print.
    """
    plain, options, columns = [], {}, []
    rest = iter(words)
    for word in rest:
        if word == "-c":
            columns.append(next(rest))
        elif word in _OUTPUT:
            next(rest)
        elif word.startswith("--"):
            options[word[2:]] = next(rest)
        else:
            plain.append(word)
    return plain, options, columns


def wanted(thing: Thing, options: Thing) -> bool:
    return all(thing.get(name) == value for name, value in options.items())


def resolve(state: dict[str, list[Thing]], options: Thing) -> Thing:
    """The options with a service's type in place of its id."""
    services = {s["id"]: s["name"] for s in state["service"]}
    if options.get("service") in services:
        return {**options, "service": services[options["service"]]}
    return options


def columns_of(state: dict[str, list[Thing]], thing: Thing, names: list[str]) -> str:
    """A line of output: the values of these columns, in order."""
    services = {s["name"]: s["id"] for s in state["service"]}
    values = {**thing, "service id": services.get(thing.get("service", ""), "None")}
    keys = ["service id" if n == "Service ID" else _COLUMNS.get(n, "id") for n in names]
    return " ".join(values.get(key, "None") for key in keys)


def check_login(options: Thing) -> None:
    """Refuse a project's credentials beside the cloud's, which are for the system."""
    if "os-cloud" in options and "OS_PROJECT_NAME" in os.environ:
        sys.exit("Authentication cannot be scoped to multiple targets.")
    options.pop("os-cloud")


def run(state: dict[str, list[Thing]], words: list[str]) -> Any:
    plain, options, columns = parse(words)
    check_login(options)
    verb = next(w for w in plain if w in ("show", "list", "create", "delete", "add", "remove"))
    noun = " ".join(plain[: plain.index(verb)])
    named = plain[plain.index(verb) + 1 :]
    if os.environ.get("FAKE_KEYSTONE_REFUSES") == f"{noun} {verb}":
        sys.exit("503: not now")
    things = state.setdefault(noun, [])
    options = resolve(state, options)
    if noun == "limit" and "service" in options:
        sys.exit("400: Invalid input for field/attribute service_id. Value: description.")
    if verb == "list":
        found = [t for t in things if wanted(t, options)]
        return [columns_of(state, thing, columns) for thing in found]
    if verb == "show":
        return [next(t["id"] for t in things if t["name"] == named[0])]
    if verb in ("delete", "remove", "add"):
        return change(state, noun, verb, named[0], options)
    made = {"id": uuid.uuid4().hex, "name": named[-1], **options}
    if noun == "service":
        made["name"] = named[0]
    elif noun == "endpoint":
        service = resolve(state, {"service": named[0]})["service"]
        made |= {"service": service, "interface": named[1], "url": named[2]}
    else:
        made["resource-name"] = named[0]
        if any(wanted(t, {k: made[k] for k in ("service", "region", "name")}) for t in things):
            sys.exit("409: a registered limit of that name is there")
    things.append(made)
    return [made["id"]]


def change(
    state: dict[str, list[Thing]], noun: str, verb: str, name: str, options: Thing
) -> list[str]:
    if noun == "role":
        assigned = state.setdefault("role assignment", [])
        thing = {"id": name, "name": name, "role": name, **options}
        if verb == "add" and thing not in assigned:
            assigned.append(thing)
        elif verb == "remove":
            assigned.remove(thing)
        return []
    things = state[noun]
    thing = next(t for t in things if t["id"] == name)
    same = {k: thing.get(k, "") for k in ("service", "region", "resource-name")}
    hanging = [t for t in state.get("limit", []) if wanted(t, same)]
    if noun == "registered limit" and hanging:
        sys.exit("403: there are limits of projects")
    things.remove(thing)
    return []


def main() -> None:
    path = pathlib.Path(os.environ["FAKE_KEYSTONE"])
    state = json.loads(path.read_text())
    for line in run(state, sys.argv[1:]):
        print(line)
    path.write_text(json.dumps(state))


if __name__ == "__main__":
    try:
        main()
    except StopIteration:
        sys.exit("404: not found")
