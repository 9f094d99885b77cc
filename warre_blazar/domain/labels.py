"""The labels that users choose for a reservation: a name, which needn't be unique, and a note."""

import dataclasses
from typing import Any

from warre_blazar import exceptions

LONGEST_NAME = 255
LONGEST_NOTE = 4096
_WHITESPACE = "\t\n\r"


@dataclasses.dataclass(frozen=True)
class Labels:
    """A reservation's name and note. None means that the reservation has no name or no note."""

    name: str | None = None
    note: str | None = None


NO_LABELS = Labels()


def checked(name: Any, note: Any) -> Labels:
    """Check a name and a note from a request and return them as labels.

    :raises InvalidField: a value isn't text, is empty, is too long, or has control characters. The
        name is also refused if it begins or ends with spaces.
    """
    _check("name", name, LONGEST_NAME, "")
    if name is not None and name != name.strip():
        raise exceptions.InvalidField("name", "expected text without spaces at its ends")
    _check("note", note, LONGEST_NOTE, _WHITESPACE)
    return Labels(name, note)


def _check(field: str, value: Any, longest: int, allowed: str) -> None:
    if value is None:
        return
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise exceptions.InvalidField(field, f"expected a text of 1 to {longest} characters")
    if any(_is_control(char) and char not in allowed for char in value):
        raise exceptions.InvalidField(field, "expected printable text")


def _is_control(char: str) -> bool:
    # JSON can encode half of a surrogate pair, which isn't a character.
    return char < " " or char == "\x7f" or "\ud800" <= char <= "\udfff"
