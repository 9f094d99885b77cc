"""What ``openstack`` says if only the first words of a command are typed, or unknown ones."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from cliff import command


class _Listing(argparse.ArgumentParser):
    """A parser whose help is a text, and that takes all words."""

    text = ""

    def format_help(self) -> str:
        return self.text

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        return argparse.Namespace(words=list(args or ()))


class CommandGroup(command.Command):
    """List the commands that begin with these words."""

    #: The openstack command line needs no credentials for it.
    auth_required = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = _Listing(prog_name)
        parser.text = "\n".join([f"Commands of {prog_name}:", *self._commands(prog_name)]) + "\n"
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        name = " ".join([self.app.NAME, str(self.cmd_name), *parsed_args.words])
        known = "\n".join(self._commands(f"{self.app.NAME} {self.cmd_name}"))
        print(f"{name} isn't a command. There are:\n{known}", file=sys.stderr)
        return 2

    def _commands(self, group: str) -> Sequence[str]:
        program, _, words = group.partition(" ")
        return sorted(
            f"  {program} {name}"
            for name, entry_point in self.app.command_manager
            if name.startswith(f"{words} ") and not entry_point.value.startswith(f"{__name__}:")
        )
