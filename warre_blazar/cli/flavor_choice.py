"""The arguments by which commands choose flavors. They are the same in all commands."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from warre_blazar.cli import arguments, base, sizes
from warre_blazar.cli.failure import Failure, WrongOptions
from warre_blazar.client import errors
from warre_blazar.client.types import Flavor, FlavorSize

#: By the field of the size: its options with their metavars and readers, and what they mean.
_SIZES: dict[str, tuple[dict[str, tuple[str, Callable[[str], int]]], str]] = {
    "vcpu": ({"--vcpu": ("N", arguments.count)}, "number of vCPUs"),
    "memory_mb": (
        {"--memory-mb": ("N", sizes.memory_mb), "--memory": ("SIZE", sizes.memory)},
        "memory",
    ),
    "disk_gb": ({"--disk-gb": ("N", sizes.disk_gb), "--disk": ("SIZE", sizes.disk)}, "disk"),
}
#: How a size is written, by the metavar.
_WRITTEN = {"N": "", "SIZE": ", such as 64G"}
_NONE_SO_LARGE = "No flavor that you may book is that large"


def add_named(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the flavors that the command is about, and the options that choose."""
    parser.add_argument(
        "flavors", metavar="FLAVOR", nargs="*", help="ID or name of a flavor (default: all)"
    )
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose flavors."""
    parser.add_argument("--category", help="only flavors of this category")
    parser.add_argument(
        "--availability-zone", metavar="ZONE", help="only flavors of this availability zone"
    )
    for name, (options, what) in _SIZES.items():
        either = parser.add_mutually_exclusive_group()
        for option, (metavar, read) in options.items():
            either.add_argument(
                option,
                dest=name,
                metavar=metavar,
                type=read,
                help=f"only flavors with at least this {what}{_unit(option)}{_WRITTEN[metavar]}",
            )


def _unit(option: str) -> str:
    return {"mb": ", in MiB", "gb": ", in GiB"}.get(option.rpartition("-")[2], "")


def add_properties(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses flavors by their properties."""
    parser.add_argument(
        "--properties",
        metavar="JSON",
        help="only flavors whose own properties have all of these comparisons, such as "
        '\'["==", "$gpu_model", "A100"]\'',
    )


def is_given(parsed_args: argparse.Namespace) -> bool:
    """Whether the user has given any of the options that choose flavors."""
    names = ("category", "availability_zone", "properties", *_SIZES)
    return any(getattr(parsed_args, name, None) is not None for name in names)


def query(parsed_args: argparse.Namespace) -> dict[str, Any]:
    """Return the choice for a search of the API. It knows no sizes, and at most one flavor."""
    names = ("category", "availability_zone", "properties")
    refs = _named(parsed_args)
    one = refs[0] if len(refs) == 1 else None
    return {"flavor": one, **{name: getattr(parsed_args, name) for name in names}}


def _named(parsed_args: argparse.Namespace) -> Sequence[str]:
    """The flavors that the user has named. A command that books takes only one."""
    if "flavor" in parsed_args:
        return [parsed_args.flavor] if parsed_args.flavor else []
    named: Sequence[str] = parsed_args.flavors
    return named


def is_chosen(flavor: Flavor | FlavorSize, parsed_args: argparse.Namespace) -> bool:
    """Whether a flavor is named, if any is, and has at least the sizes that the user asks for."""
    refs = _named(parsed_args)
    return (not refs or flavor.id in refs or flavor.name in refs) and all(
        getattr(flavor, name) >= (getattr(parsed_args, name) or 0) for name in _SIZES
    )


def refs(parsed_args: argparse.Namespace) -> Sequence[str]:
    """Return the flavors that the user has named.

    :raises WrongOptions: the user has also said what the flavors must have.
    """
    if parsed_args.flavors and is_given(parsed_args):
        raise WrongOptions("Name flavors, or say what they must have, not both")
    return _named(parsed_args)


def get(command: base.Command, ref: str) -> Flavor:
    """Return a flavor that the user has named.

    :raises Failure: there is no such flavor.
    """
    try:
        return command.v2.flavors.get(ref)
    except errors.NotFound as error:
        raise Failure(command.unknown_flavor(ref)) from error


def check(command: base.Command, parsed_args: argparse.Namespace) -> None:
    """Refuse names of no flavor. The API itself refuses it if only one flavor is named.

    :raises Failure: there is no such flavor.
    """
    named = _named(parsed_args)
    for ref in named if len(named) > 1 else ():
        get(command, ref)


def check_found(
    command: base.Command, parsed_args: argparse.Namespace, found: Sequence[Any]
) -> None:
    """Refuse a choice that no flavor fulfills.

    :param found: what a search has found of flavors, each with its ``flavor``.
    :raises Failure: the category has no flavor, or none is so large.
    """
    if parsed_args.category and not found:
        choose(command, parsed_args.category)
    by_size = any(getattr(parsed_args, name) for name in _SIZES)
    if by_size and found and not any(is_chosen(each.flavor, parsed_args) for each in found):
        raise Failure(_NONE_SO_LARGE)


def listed(
    command: base.Command, parsed_args: argparse.Namespace, *, everything: bool = False
) -> list[Flavor]:
    """Return the flavors that have what the user asks for.

    :param everything: return also inactive flavors, and private flavors of all projects. Only
        operators may ask for them.
    :raises Failure: there are none.
    """
    zone = parsed_args.availability_zone
    found = choose(command, parsed_args.category, zone, everything=everything)
    chosen = [flavor for flavor in found if is_chosen(flavor, parsed_args)]
    if not chosen:
        raise Failure(_NONE_SO_LARGE)
    return chosen


def choose(
    command: base.Command,
    category: str | None,
    availability_zone: str | None = None,
    *,
    everything: bool = False,
) -> list[Flavor]:
    """Return the flavors that the user may book, all of them or those of a category or a zone.

    :param everything: return also inactive flavors, and private flavors of all projects. Only
        operators may ask for them.
    :raises Failure: there are none.
    """
    listed = command.v2.flavors.list(
        all_projects=everything, category=category, availability_zone=availability_zone
    )
    if listed:
        return listed
    if category is not None:
        raise Failure(unknown_category(command, category))
    there = f" in the zone {availability_zone}" if availability_zone else ""
    raise Failure(f"There are no flavors that you may book{there}; ask the operator")


def unknown_category(command: base.Command, category: str) -> str:
    """Return the text for a category of no flavor, with the categories that flavors have."""
    known = {flavor.category for flavor in command.v2.flavors.list()} - {None}
    names = ", ".join(sorted(str(name) for name in known)) or "no flavor has one"
    return f"No flavor that you may book has the category {category!r}; categories: {names}"
