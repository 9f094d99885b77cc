"""Blazar's requirement expressions over a host's properties.

``["==", "$gpu", "a100"]``, or ``["and", EXPRESSION, EXPRESSION, ...]``; the text form is its JSON.
Source of the grammar: Blazar's ``resource_properties``.
"""

import json
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}

_EXPECTED = (
    'expected a JSON expression such as ["==", "$gpu", "a100"] or ["and", ["==", ...], [">=", ...]]'
)
_MAX_DEPTH = 16

#: One comparison: property name, operator, value.
Comparison = tuple[str, str, str]


def parse(text: str | None) -> list[Comparison]:
    """The comparisons that must all hold; none for None or an empty text or list.

    :raises ValueError: with what was expected.
    """
    if text is None or not text.strip():
        return []
    try:
        expression = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(_EXPECTED) from None
    if expression == []:
        return []
    return _flatten(expression, 0)


def _flatten(expression: Any, depth: int) -> list[Comparison]:
    if not isinstance(expression, list) or not expression or depth > _MAX_DEPTH:
        raise ValueError(_EXPECTED)
    head, *rest = expression
    if head == "and" and rest:
        return [c for part in rest for c in _flatten(part, depth + 1)]
    if isinstance(head, str) and head in OPERATORS and len(rest) == 2:
        name, value = rest
        if isinstance(name, str) and isinstance(value, str) and name[:1] == "$" and name[1:]:
            return [(name[1:], head, value)]
    raise ValueError(_EXPECTED)


def satisfied(comparisons: list[Comparison], properties: Mapping[str, Any]) -> bool:
    """Whether a host with these properties satisfies all comparisons.

    A property the host doesn't have, or has as None, satisfies none. Two numbers compare as
    numbers, all else as text.
    """
    return all(
        properties.get(name) is not None and _holds(op, properties[name], value)
        for name, op, value in comparisons
    )


def _holds(op: str, have: Any, want: str) -> bool:
    numbers = _number(have), _number(want)
    if None not in numbers:
        return OPERATORS[op](*numbers)
    return OPERATORS[op](str(have), want)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    # "nan" and "inf" are names: a number that isn't equal to itself would match nothing.
    return number if math.isfinite(number) else None
