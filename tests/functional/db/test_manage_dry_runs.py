"""Every ``warre-blazar-manage`` command with --dry-run changes nothing, whatever else is given."""

import argparse
import datetime
import itertools
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from tests.fakes.cloud import Cloud
from tests.functional.db import databases, world
from tests.functional.db.test_device_recount import GPU, forget
from warre_blazar.cmd import manage
from warre_blazar.domain.flavors.devices import NO_DEVICES
from warre_blazar.domain.hosts.host_marks import Drain
from warre_blazar.services.moves import drained_hosts

#: A value for each argument that takes one. An argument that is missing here fails the test.
_VALUES = {
    "host": "drained",
    "--reason": "fans",
    "--days": "1",
    "--connection": "mysql+pymysql://warre:x@127.0.0.1:1/warre",
}
_PAST = datetime.timedelta(days=36500)


def _parsers(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator:
    """Yield the words and the parser of every command."""
    nested = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for action in nested:
        for name, inner in action.choices.items():
            yield from _parsers(inner, (*words, name))
    if not nested:
        yield words, parser


def _combinations() -> Iterator[tuple[str, ...]]:
    """Yield a command line for each set of options of each command that has --dry-run."""
    root = argparse.ArgumentParser()
    manage._add_parsers(root.add_subparsers())
    for words, parser in _parsers(root, ()):
        actions = [a for a in parser._actions if a.dest != "help"]
        flags = {flag for a in actions for flag in a.option_strings[-1:]}
        if "--dry-run" not in flags:
            continue
        needed = [_VALUES[a.dest] for a in actions if not a.option_strings and a.nargs != "?"]
        options = [
            (a.option_strings[-1], *([] if a.nargs == 0 else [_VALUES[a.option_strings[-1]]]))
            for a in actions
            if a.option_strings and a.option_strings[-1] != "--dry-run"
        ]
        for size in range(len(options) + 1):
            for some in itertools.combinations(options, size):
                yield (*words, *needed, "--dry-run", *itertools.chain.from_iterable(some))


@pytest.fixture
def run(database: sa.Engine, cloud: Cloud, conf, tmp_path) -> Callable[..., int]:
    """Run a command in a world in which each of the commands has something to do."""
    world.add_host(cloud, "drained", vcpus=4, properties={"pci_alias_gpu": "8"})
    world.add_host(cloud, "other", vcpus=4)
    flavor = world.add_flavor(slots=9)
    over, _ = (world.book(world.request(flavor, world.hours(n, n + 1))) for n in (1, 3))
    span = world.hours(1, 2)
    world.write_lease(over.id, {"start_date": span.start - _PAST, "end_date": span.end - _PAST})
    world.begin(over)
    world.finish(over)
    forget(world.add_flavor(NO_DEVICES, extra_specs=GPU))
    drained_hosts.drain("drained", Drain("op", world.NOW, None), world.conditions(), world.NOW)
    config = databases.write_config(database.url.render_as_string(hide_password=False), tmp_path)
    return lambda *words: manage.main(["--config-file", config, *words])


@pytest.mark.parametrize("words", list(_combinations()), ids=" ".join)
def test_dry_run_changes_nothing(database: sa.Engine, run, words: tuple[str, ...]):
    before = databases.dump(database)
    run(*words)
    assert databases.dump(database) == before


@pytest.mark.parametrize(
    "words",
    [
        ("host", "drain", "other"),
        ("host", "drain", "drained", "--undo"),
        ("purge", "--days", "1"),
        ("flavor", "recount"),
    ],
    ids=" ".join,
)
def test_without_dry_run_the_same_commands_change_something(database: sa.Engine, run, words):
    before = databases.dump(database)
    run(*words)
    assert databases.dump(database) != before
