"""Blazar's expressions that say which properties a host must have.

An expression is ``["==", "$gpu", "a100"]`` or ``["and", EXPRESSION, EXPRESSION, ...]``, written as
JSON. The grammar is that of Blazar's ``resource_properties``.
"""

import json
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from warre_blazar import texts

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}

_MAX_DEPTH = 16

#: One comparison: the property's name, the operator, and the value.
Comparison = tuple[str, str, str]


def parse(text: str | None) -> list[Comparison]:
    """The comparisons of an expression. A host must satisfy all of them.

    :returns: an empty list for None, a blank text, and an empty JSON list.
    :raises NotValid: the text isn't an expression.
    """
    if text is None or not text.strip():
        return []
    try:
        expression = json.loads(text)
    except (ValueError, RecursionError):
        is_quoted = "'" in text and '"' not in text
        entry = texts.expected.HOST_PROPERTIES_JSON if is_quoted else texts.expected.HOST_PROPERTIES
        raise texts.NotValid(entry()) from None
    if expression == []:
        return []
    return _flatten(expression, 0)


def _flatten(expression: Any, depth: int) -> list[Comparison]:
    if not isinstance(expression, list) or not expression or depth > _MAX_DEPTH:
        raise texts.NotValid(texts.expected.HOST_PROPERTIES())
    head, *rest = expression
    if head == "and" and rest:
        return [c for part in rest for c in _flatten(part, depth + 1)]
    if isinstance(head, str) and head in OPERATORS and len(rest) == 2:
        name, value = rest
        if isinstance(name, str) and isinstance(value, str) and name[:1] == "$" and name[1:]:
            return [(name[1:], head, value)]
    raise texts.NotValid(_mistake(head, rest))


def _mistake(head: Any, rest: list[Any]) -> texts.Said:
    """What is expected in place of a comparison that isn't one."""
    expected = texts.expected
    if head == "or":
        return expected.HOST_PROPERTIES_OR()
    if not isinstance(head, str) or len(rest) != 2:
        return expected.HOST_PROPERTIES()
    if head not in OPERATORS:
        return expected.HOST_PROPERTIES_OPERATOR(known=[*OPERATORS], operator=head)
    name, value = rest
    if not (isinstance(name, str) and name[:1] == "$" and name[1:]):
        return expected.HOST_PROPERTIES_NAME(value=json.dumps(name))
    if isinstance(value, bool | int | float):
        return expected.HOST_PROPERTIES_TEXT(value=json.dumps(value))
    return expected.HOST_PROPERTIES()


def satisfied(comparisons: list[Comparison], properties: Mapping[str, Any]) -> bool:
    """Whether a host with these properties satisfies all comparisons.

    A comparison with a property that is missing or None is never satisfied. If both values are
    numbers, they are compared as numbers. Other values are compared as text.
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
    # "nan" and "inf" are compared as text. As a number, "nan" wouldn't even equal itself.
    return number if math.isfinite(number) else None
