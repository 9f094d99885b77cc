"""Reads the values of a row of a Warre database."""

import datetime
from collections.abc import Mapping
from typing import Any


class Unusable(Exception):
    """A row can't be imported. The text says why."""


def text(row: Mapping[str, Any], field: str) -> str | None:
    """The value of a text column, which was read as bytes.

    :raises Unusable: the value isn't UTF-8.
    """
    raw = row[field]
    if raw is None:
        return None
    try:
        return raw.decode("utf-8") if isinstance(raw, bytes) else str(raw)
    except UnicodeDecodeError:
        raise Unusable(f"its {field} isn't UTF-8") from None


def required(row: Mapping[str, Any], field: str) -> str:
    """The value of a text column that mustn't be empty.

    :raises Unusable: the value isn't UTF-8, or it is empty.
    """
    value = text(row, field)
    if not value:
        raise Unusable(f"its {field} is empty")
    return value


def identifier(row: Mapping[str, Any]) -> str:
    """The id of a row.

    :raises Unusable: the id is empty, or isn't ASCII, as each id that Warre makes is.
    """
    value = required(row, "id")
    if not value.isascii():
        raise Unusable("its id isn't ASCII")
    return value


def key(identifier: str) -> str:
    """What is the same for all spellings of an id that are one id for Warre.

    MariaDB's collation for Warre's tables ignores the case of letters and blanks at the end.
    """
    return identifier.rstrip(" ").lower()


def number(row: Mapping[str, Any], field: str) -> int:
    """The value of a column of integers.

    :raises Unusable: the value is NULL.
    """
    value = row[field]
    if value is None:
        raise Unusable(f"its {field} is empty")
    return int(value)


def shown_id(row: Mapping[str, Any]) -> str:
    """The id of a row as a text that can be printed, even if the id isn't UTF-8."""
    return shown(row["id"])


def shown(raw: Any) -> str:
    """A value that was read as bytes, as a text that can be printed, even if it isn't UTF-8."""
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else str(raw)


def moment(row: Mapping[str, Any], field: str) -> datetime.datetime | None:
    """The value of a time column, or None for an impossible date, which MariaDB can store."""
    value = row[field]
    return value if isinstance(value, datetime.datetime) else None


def span(row: Mapping[str, Any]) -> tuple[datetime.datetime, datetime.datetime]:
    """The start and the end of a row.

    :raises Unusable: the start or the end is missing, or the end isn't after the start.
    """
    start, end = moment(row, "start"), moment(row, "end")
    if start is None or end is None or end <= start:
        raise Unusable("its end isn't after its start")
    return start, end


def cut_fractions(row: Mapping[str, Any], *fields: str) -> list[str]:
    """Remarks on times with fractions of a second, which the columns of this package don't have."""
    moments = {field: moment(row, field) for field in fields}
    return [
        f"its {field} of {value} is taken without the fraction of a second"
        for field, value in moments.items()
        if value is not None and value.microsecond
    ]
