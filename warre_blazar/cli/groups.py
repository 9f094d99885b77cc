"""What ``openstack`` says if only the first words of a command are typed, or unknown ones."""

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import Any

from cliff import command

#: Words that people use in place of the last word of a command.
_SYNONYMS = {
    **dict.fromkeys(("book", "reserve", "add", "new"), "create"),
    **dict.fromkeys(("cancel", "remove"), "delete"),
    **dict.fromkeys(("change", "update"), "set"),
}
#: Commands that people type, and those that do it.
_OTHERS = {
    "reservation extend": "reservation set RESERVATION --end +2h",
    "reservation quota list": "reservation limits show --all-projects",
}


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
        group = f"{self.app.NAME} {self.cmd_name}"
        name, known = " ".join([group, *parsed_args.words]), self._commands(group)
        meant = self._meant(group, known, *parsed_args.words[:1])
        there = [f"is {meant} meant?"] if meant else ["There are:", *known]
        print(f"{name} isn't a command{';' if meant else '.'}", "\n".join(there), file=sys.stderr)
        return 2

    def _meant(self, group: str, known: Sequence[str], word: str = "") -> str | None:
        """The command of the group that is meant by another word, or None."""
        if other := _OTHERS.get(f"{self.cmd_name} {word}"):
            return f"{self.app.NAME} {other}"
        words = [name.strip().removeprefix(f"{group} ") for name in known]
        close = difflib.get_close_matches(_SYNONYMS.get(word, word), words, 1)
        return f"{group} {close[0]}" if close else None

    def _commands(self, group: str) -> Sequence[str]:
        program, _, words = group.partition(" ")
        return sorted(
            f"  {program} {name}"
            for name, entry_point in self.app.command_manager
            if name.startswith(f"{words} ") and not entry_point.value.startswith(f"{__name__}:")
        )
