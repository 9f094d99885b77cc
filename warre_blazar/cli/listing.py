"""Commands that list: their filters and columns are declared."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from warre_blazar.cli import arguments, base, owners, project_names, user_names
from warre_blazar.client import lookup
from warre_blazar.client.types import Document


class ListFilter(NamedTuple):
    """Options that restrict a list, and a function that reads the client's filters from them."""

    add: Callable[[argparse.ArgumentParser], object]
    values: Callable[[base.Command, argparse.Namespace], Document]


def projects(what: str) -> ListFilter:
    """``--project`` and ``--all-projects``. The text says what the command does."""
    return ListFilter(
        lambda parser: arguments.add_projects(parser, what),
        lambda command, parsed_args: {
            "all_projects": parsed_args.all_projects,
            "project_id": project_names.identity(command, parsed_args),
        },
    )


def user(text: str) -> ListFilter:
    """``--user``."""
    return ListFilter(
        lambda parser: arguments.add_user(parser, text),
        lambda command, parsed_args: {"user_id": user_names.identity(command, parsed_args)},
    )


def flavor(text: str) -> ListFilter:
    """``--flavor``. An id isn't looked up, because the flavor may have been deleted."""

    def values(command: base.Command, parsed_args: argparse.Namespace) -> Document:
        ref = parsed_args.flavor
        is_name = ref and not lookup.is_id(ref)
        return {"flavor_id": command.v2.flavors.get(ref).id if is_name else ref}

    named = option("--flavor", f"{text} (ID or name)", metavar="FLAVOR")
    return ListFilter(named.add, values)


def period(since: str, until: str) -> ListFilter:
    """``--from`` and ``--to``, with a help text for each."""
    return ListFilter(
        lambda parser: arguments.add_from_to(parser, since, until),
        lambda command, args: dict(zip(("since", "until"), command.window(args), strict=True)),
    )


def limit(text: str) -> ListFilter:
    """``--limit``."""
    return option("--limit", text, metavar="N", type=arguments.count)


def option(flag: str, text: str, **settings: Any) -> ListFilter:
    """An option whose value is that of the filter with its name.

    :param settings: further arguments of ``add_argument``.
    """
    name = flag[2:].replace("-", "_")
    return ListFilter(
        lambda parser: parser.add_argument(flag, help=text, **settings),
        lambda _, parsed_args: {name: getattr(parsed_args, name)},
    )


class ShowObject(base.OneCommand, base.ShowCommand):
    """A command that shows one object of a kind."""

    collection = ""

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        ref = getattr(parsed_args, self.argument)
        return self.details(getattr(self.v2, self.collection).get(ref).document)


class DeleteObjects(base.DeleteCommand):
    """A command that deletes objects of a kind."""

    collection = ""

    def remove(self, ref: str, parsed_args: argparse.Namespace) -> base.Deletion:
        getattr(self.v2, self.collection).delete(ref)
        return base.Deletion(ref)

    def describe(self, ref: str) -> str:
        return f"{self.noun} {getattr(self.v2, self.collection).get(ref).id}"


class ListObjects(base.ListCommand):
    """A command that lists the objects of a kind that its filters choose."""

    #: The client's attribute for this kind of objects.
    collection = ""
    filters: Sequence[ListFilter] = ()
    columns: Sequence[str] = ()
    #: Further columns with ``--long``. A command without any has no such option.
    long: Sequence[str] = ()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        for each in self.filters:
            each.add(parser)
        if self.long:
            parser.add_argument("--long", action="store_true", help="show all columns")
        return parser

    def query(self, parsed_args: argparse.Namespace) -> Document:
        """Return the client's filters that the user has given."""
        given = (each.values(self, parsed_args) for each in self.filters)
        return {name: value for values in given for name, value in values.items()}

    def get_data(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        found = self.found(parsed_args)
        names = self.names(parsed_args, found)
        rows = [self.row(each) for each in found]
        with_owners = not set(names).isdisjoint(owners.COLUMNS)
        return self.table(names, owners.named(self, rows) if with_owners else rows)

    def found(self, parsed_args: argparse.Namespace) -> list[Any]:
        """Return the objects to list."""
        listed: list[Any] = getattr(self.v2, self.collection).list(**self.query(parsed_args))
        return listed

    def names(self, parsed_args: argparse.Namespace, found: Sequence[Any]) -> Sequence[str]:
        """Return the names of the columns. A list of all projects says whose its objects are."""
        if getattr(parsed_args, "long", False):
            more = self.long
        else:
            more = owners.COLUMNS if getattr(parsed_args, "all_projects", False) else ()
        return list(dict.fromkeys([*self.columns, *more]))

    def row(self, item: Any) -> Document:
        """Return the fields of an object, of which the columns are some."""
        document: Document = item.document
        return document
