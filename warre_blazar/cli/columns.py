"""Values that look otherwise in a table than in formats for programs."""

from collections.abc import Iterable
from typing import Any

from cliff import columns


class ShownColumn(columns.FormattableColumn[Any]):
    """A value for programs, and the text that a table shows instead."""

    def __init__(self, value: Any, text: str) -> None:
        super().__init__(value)
        self._text = text

    def human_readable(self) -> str:
        return self._text


def lines(value: Any, texts: Iterable[str]) -> ShownColumn:
    """Return a value of which a table shows these lines."""
    return ShownColumn(value, "\n".join(texts))


def formatted(value: Any) -> Any:
    """Return a value as a column. A table shows a dict as k='v', and a list as a, b, c."""
    if isinstance(value, dict):
        return ShownColumn(
            value, ", ".join(f"{key}='{each}'" for key, each in sorted(value.items()))
        )
    if isinstance(value, list):
        return ShownColumn(value, ", ".join(str(each) for each in value))
    return value


def warnings(found: list[dict[str, Any]]) -> ShownColumn:
    """Return the API's warnings, of which a table shows the texts."""
    return ShownColumn(found, ", ".join(warning["message"] for warning in found))
