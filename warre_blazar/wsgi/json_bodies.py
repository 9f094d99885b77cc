"""Refuses bodies on which Blazar's own code would fail before it checks anything else."""

import json
from collections.abc import Iterable
from typing import Any

from warre_blazar import texts
from warre_blazar.errors import exceptions

#: The largest number of levels of lists and objects in a body. Python's parser has a limit too. It
#: depends on where the parser is called, so it can't be checked here for Blazar's calls.
_MAX_LEVELS = 100


def check(content_type: str, body: bytes) -> None:
    """Check a body that Blazar will parse.

    :param content_type: the request's Content-Type, or an empty string.
    :raises InvalidField: the body is a form, or has too many levels.
    :raises Refused: the body should be JSON but isn't.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind.startswith("multipart/"):
        raise exceptions.InvalidField("Content-Type", texts.expected.CONTENT_TYPE())
    if kind not in ("", "application/json") or not body.strip():
        return
    try:
        document = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise exceptions.Refused(texts.bodies.MALFORMED_JSON()) from None
    if not _is_shallow(document):
        raise exceptions.InvalidField("body", texts.expected.LEVELS(levels=_MAX_LEVELS))


def _is_shallow(document: Any) -> bool:
    level = [document]
    for _ in range(_MAX_LEVELS + 1):
        level = [child for value in level for child in _children(value)]
        if not level:
            return True
    return False


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
