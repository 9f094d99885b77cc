"""Finds numbers of seconds, and lengths of time, in the source of a module."""

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Sequence

#: A function that says whether something in the syntax tree is a time. It gets the source's lines.
Rule = Callable[[ast.AST, Sequence[str]], bool]

#: Words in the name of a time.
WORDS = {
    *("after", "age", "ago", "ahead", "days", "deadline", "delay", "every", "expiry", "grace"),
    *("hours", "interval", "late", "lead", "lifetime", "minutes", "patience", "pause", "pauses"),
    *("period", "poll", "seconds", "silence", "spacing", "timeout", "ttl", "wait", "weeks"),
    *("within", "years"),
}
#: What a comment, or the help of an option, says of a time.
SPOKEN = re.compile(
    r"\b((milli)?seconds|minutes|hours|days|weeks|years|so long|how long|this long)\b", re.I
)
#: Functions that take a time.
WAITING = {
    *("Timer", "acquire", "join", "limited", "periodic", "result", "sleep", "until", "wait"),
}
#: Functions that tell the time.
CLOCKS = {"monotonic", "now", "time", "utcnow"}
#: How many seconds, minutes, hours or days the next longer units have.
UNITS = {24, 60, 1440, 3600, 86400, 604800}


def is_number(node: ast.AST | None) -> bool:
    """Whether a node is a number other than 0, also with a sign or as a product."""
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float) and value != 0
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
    return False


def has_number(node: ast.AST | None) -> bool:
    """Whether a node is a number, or a collection of numbers."""
    match node:
        case ast.Tuple(elts=values) | ast.List(elts=values):
            return any(map(is_number, values))
        case ast.Dict(values=values):
            return bool(values) and all(map(is_number, values))
    return is_number(node)


def name_of(node: ast.AST) -> str:
    """The last name of a variable, an attribute or a function. Empty: the node has no name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def is_of_time(name: str) -> bool:
    """Whether a name is that of a time, such as ``retry_delay``."""
    return not WORDS.isdisjoint(name.lower().split("_"))


def is_said_of(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether the comment above or behind a statement says in its first sentence that it is a time.

    Later sentences may tell how long something else takes.
    """
    is_comment = re.compile(r"\s*#:?\s*(.*)").fullmatch
    above = itertools.takewhile(bool, map(is_comment, reversed(lines[: node.lineno - 1])))
    whole = " ".join(reversed([match[1] for match in above if match]))
    behind = lines[node.lineno - 1].partition("#")[2]
    return any(SPOKEN.search(comment.partition(". ")[0]) for comment in (whole, behind))


def makes_timedelta(node: ast.AST, lines: Sequence[str]) -> bool:
    """``datetime.timedelta(...)``: elsewhere, a length is a multiple of a unit in ``times``."""
    return isinstance(node, ast.Call) and name_of(node.func) == "timedelta"


def converts_units(node: ast.AST, lines: Sequence[str]) -> bool:
    """``minutes * 60``: elsewhere, units are divided by each other."""
    match node:
        case ast.BinOp(left=left, right=right):
            numbers = {each.value for each in (left, right) if isinstance(each, ast.Constant)}
            return not UNITS.isdisjoint(numbers)
    return False


def measures_time(node: ast.AST, lines: Sequence[str]) -> bool:
    """``age > 300``, or ``now() + 5``. 0 and 1 only say whether there is any, or a whole one."""
    match node:
        case ast.Compare(left=left, comparators=others):
            sides = [left, *others]
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            sides = [left, right]
        case _:
            return False
    numbers = [side for side in sides if is_number(side) and ast.unparse(side) != "1"]
    names = {name_of(side.func) if isinstance(side, ast.Call) else name_of(side) for side in sides}
    return bool(numbers) and (bool(names & CLOCKS) or any(map(is_of_time, names)))


def waits_for_number(node: ast.AST, lines: Sequence[str]) -> bool:
    """``sleep(5)``, or ``ask(timeout=5)``."""
    match node:
        case ast.Call(func=function, args=args, keywords=keywords):
            if makes_timedelta(node, lines):
                return False
            waits = name_of(function) in WAITING and any(map(is_number, args))
            return waits or any(is_of_time(k.arg or "") and has_number(k.value) for k in keywords)
    return False


def maps_to_number(node: ast.AST, lines: Sequence[str]) -> bool:
    """``{"timeout": 5}``. 1 is the smallest number that something may have."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            texts = [(k.value, v) for k, v in pairs if isinstance(k, ast.Constant)]
            times = [value for text, value in texts if is_of_time(str(text))]
            return any(is_number(value) and ast.unparse(value) != "1" for value in times)
    return False


def defaults_to_number(node: ast.AST, lines: Sequence[str]) -> bool:
    """``def ask(timeout=5)``."""
    match node:
        case ast.FunctionDef(args=args) | ast.Lambda(args=args):
            named = [*args.posonlyargs, *args.args][::-1]
            pairs = [
                *zip(named, args.defaults[::-1], strict=False),
                *zip(args.kwonlyargs, args.kw_defaults, strict=True),
            ]
            return any(is_of_time(argument.arg) and has_number(value) for argument, value in pairs)
    return False


def names_time(node: ast.AST, lines: Sequence[str]) -> bool:
    """``TIMEOUT = 5``, or a number whose comment speaks of seconds."""
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AnnAssign(target=target, value=value):
            targets = [target]
        case _:
            return False
    names = [name_of(each) for target in targets for each in ast.walk(target)]
    return has_number(value) and (any(map(is_of_time, names)) or is_said_of(node, lines))


def is_option_of_time(node: ast.AST, lines: Sequence[str]) -> bool:
    """An option whose help speaks of seconds, with a number as its default or its largest value."""
    match node:
        case ast.Call(keywords=keywords):
            given = {keyword.arg: keyword.value for keyword in keywords}
            if not {"default", "help"} <= given.keys():
                return False
            item = getattr(given.get("item_type"), "keywords", [])
            largest = [keyword.value for keyword in (*keywords, *item) if keyword.arg == "max"]
            speaks = SPOKEN.search(ast.unparse(given["help"]))
            return bool(speaks) and any(map(has_number, [given["default"], *largest]))
    return False


#: What is a time in the server.
IN_SERVER: tuple[Rule, ...] = (
    makes_timedelta,
    converts_units,
    measures_time,
    waits_for_number,
    maps_to_number,
    defaults_to_number,
    names_time,
    is_option_of_time,
)
#: Clients calculate dates, and show lengths in several units. But what they wait for is a time.
IN_CLIENTS: tuple[Rule, ...] = (waits_for_number, defaults_to_number, names_time)


def found(source: str, rules: Sequence[Rule]) -> Iterator[str]:
    """The lines of a module that have a time."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if any(rule(node, lines) for rule in rules):
            assert isinstance(node, ast.expr | ast.stmt)
            yield f"{node.lineno}: {lines[node.lineno - 1].strip()}"
