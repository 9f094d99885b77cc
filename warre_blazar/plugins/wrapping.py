"""Wraps functions of Blazar, each once in a process."""

import functools
from collections.abc import Callable
from typing import Any

_Function = Callable[..., Any]


def wrap(by: str, owner: Any, **wrappers: Callable[[_Function], _Function]) -> None:
    """Wrap functions of a class or a module, unless this has been done already.

    :param by: the name of the module that wraps them.
    :param wrappers: by the function's name, what returns a function to call in its place. It gets
        the function as it was.
    """
    for name, wrapper in wrappers.items():
        function = getattr(owner, name)
        # ``functools.wraps`` passes the attribute on to whatever wraps the function later.
        wrapped_by = getattr(function, "wrapped_by", ())
        if by not in wrapped_by:
            made: Any = functools.wraps(function)(wrapper(function))
            made.wrapped_by = (*wrapped_by, by)
            setattr(owner, name, made)
