#!/usr/bin/env python3
"""A fake of the program ``openstack``, with the commands that the devstack plugin uses.

Its data are in the JSON file that ``FAKE_KEYSTONE`` names, as lists by the kind of thing. The fake
refuses what real clients refuse: credentials in the environment beside ``--os-cloud``. A command
that ``FAKE_KEYSTONE_REFUSES`` names fails.
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


def parse(words: list[str]) -> tuple[list[str], Thing]:
    """Parse the words of a command line.

    :returns: the plain words, and the options by name.
    """
    plain, options = [], {}
    rest = iter(words)
    for word in rest:
        if word in _OUTPUT:
            next(rest)
        elif word.startswith("--"):
            options[word[2:]] = next(rest)
        else:
            plain.append(word)
    return plain, options


def wanted(thing: Thing, options: Thing) -> bool:
    return all(thing.get(name) == value for name, value in options.items())


def resolve(state: dict[str, list[Thing]], options: Thing) -> Thing:
    """The options with a service's type in place of its id."""
    services = {s["id"]: s["name"] for s in state["service"]}
    if options.get("service") in services:
        return {**options, "service": services[options["service"]]}
    return options


def check_login(options: Thing) -> None:
    """Refuse a project's credentials beside the cloud's, which are for the system."""
    if "os-cloud" in options and "OS_PROJECT_NAME" in os.environ:
        sys.exit("Authentication cannot be scoped to multiple targets.")
    options.pop("os-cloud")


def run(state: dict[str, list[Thing]], words: list[str]) -> Any:
    plain, options = parse(words)
    check_login(options)
    verb = next(w for w in plain if w in ("show", "list", "create"))
    noun = " ".join(plain[: plain.index(verb)])
    named = plain[plain.index(verb) + 1 :]
    if os.environ.get("FAKE_KEYSTONE_REFUSES") == f"{noun} {verb}":
        sys.exit("503: not now")
    things = state.setdefault(noun, [])
    options = resolve(state, options)
    if verb == "list":
        return [t["id"] for t in things if wanted(t, options)]
    if verb == "show":
        return [next(t["id"] for t in things if t["name"] == named[0])]
    made = {"id": uuid.uuid4().hex, **options}
    if noun == "service":
        made["name"] = named[0]
    else:
        service = resolve(state, {"service": named[0]})["service"]
        made |= {"service": service, "interface": named[1], "url": named[2]}
    things.append(made)
    return [made["id"]]


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
