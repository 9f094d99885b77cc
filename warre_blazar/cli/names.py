"""What a command is called in the CLI that is running."""

from typing import Any

#: Where ``openstack`` has another word than ``blazar``.
_VERBS = {"update": "set"}


def command(name: str, *, in_openstack: bool) -> str:
    """All that a user types to run a command.

    :param name: what ``blazar`` calls it, such as ``flavor-list``.
    """
    if not in_openstack:
        return f"blazar {name}"
    words = [_VERBS.get(word, word) for word in name.removeprefix("reservation-").split("-")]
    return f"openstack reservation {' '.join(words)}"


class Fields(dict[str, Any]):
    """Values for the fields of a text, and commands: ``"See {flavor-list}".format_map(fields)``.

    :param app: the CLI that is running, as cliff hands it to its commands.
    :param values: by name, which have no hyphen.
    """

    def __init__(self, app: Any, **values: Any) -> None:
        super().__init__(values)
        self._in_openstack = hasattr(app, "client_manager")

    def __missing__(self, name: str) -> str:
        if "-" not in name:
            raise KeyError(name)
        return command(name, in_openstack=self._in_openstack)
