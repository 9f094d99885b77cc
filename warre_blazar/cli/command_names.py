"""The names of the commands in the CLI that is running: openstack or blazar."""

from typing import Any

#: Words that ``blazar`` uses in names of commands, with the words that ``openstack`` uses instead.
_VERBS = {"update": "set"}


def command(name: str, *, in_openstack: bool) -> str:
    """Return the words that a user types to run a command, including the program's name.

    :param name: the command's name in ``blazar``, such as ``flavor-list``.
    """
    if not in_openstack:
        return f"blazar {name}"
    words = [_VERBS.get(word, word) for word in name.removeprefix("reservation-").split("-")]
    return f"openstack reservation {' '.join(words)}"


class Fields(dict[str, Any]):
    """Values for ``str.format_map``. A field with a hyphen gives the full name of a command.

    For example, the text ``"See {flavor-list}".format_map(fields)`` contains the name that the
    command ``flavor-list`` has in the running CLI.

    :param app: the running CLI, as cliff passes it to commands.
    :param values: the values of other fields. The names of these fields have no hyphen.
    """

    def __init__(self, app: Any, **values: Any) -> None:
        super().__init__(values)
        self._in_openstack = hasattr(app, "client_manager")

    def __missing__(self, name: str) -> str:
        if "-" not in name:
            raise KeyError(name)
        return command(name, in_openstack=self._in_openstack)
