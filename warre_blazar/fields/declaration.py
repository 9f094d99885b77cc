"""The classes ``Field`` and ``Resource``, by which resources are declared."""

import dataclasses
import enum
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from warre_blazar.fields.kinds import FieldKind

T = TypeVar("T")


class Use(enum.Flag):
    """Where a field is used."""

    #: Each body may have the field, and each answer has it.
    PLAIN = 0
    #: A body that creates an item must have the field.
    REQUIRED = enum.auto()
    #: No body has the field.
    READ_ONLY = enum.auto()
    #: No answer has the field.
    WRITE_ONLY = enum.auto()
    #: The field can't be changed.
    FIXED = enum.auto()
    #: Warre doesn't have the field, so requests and answers on Warre's path don't have it either.
    NOT_IN_WARRE = enum.auto()
    #: Only some answers have the field. The description says which.
    SOMETIMES = enum.auto()
    #: Lists have a column for the field also without ``--long``.
    BRIEF = enum.auto()
    #: The same, but only if an item of the list has a value.
    RARE = enum.auto()


class Field(Generic[T]):
    """A field of a resource.

    ``key`` is the name of the attribute, and ``name`` the field's name in the API.

    :param kind: the values that the field may have.
    :param description: whole sentences. Commands show the first one as the help of an option.
    :param default: the value if a body that creates an item, or an answer, doesn't have the field.
    :param name: the field's name in the API, if it isn't the name of the attribute.
    :param seen_by: the policy rule of the callers who get the field. None: everybody who gets the
        item gets the field.
    :param metavar: a word that stands for the value in the help of an option.
    """

    def __init__(
        self,
        kind: FieldKind[T],
        description: str,
        use: Use = Use.PLAIN,
        default: Any = None,
        *,
        name: str | None = None,
        seen_by: str | None = None,
        metavar: str | None = None,
    ) -> None:
        self.kind, self.description, self.use, self.default = kind, description, use, default
        self.seen_by, self.metavar = seen_by, metavar
        self.key, self.name = "", name or ""

    def __set_name__(self, owner: type, key: str) -> None:
        self.key, self.name = key, self.name or key

    @property
    def mandatory(self) -> bool:
        """Whether a body that creates an item must have the field."""
        return Use.REQUIRED in self.use

    @overload
    def __get__(self, instance: None, owner: Any) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: Any) -> T: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        # Python calls this method only if the instance has no value of its own.
        return self if instance is None else self.default


class By(enum.Enum):
    """Whom the policy allows an action unless the operator says otherwise."""

    ADMIN = enum.auto()
    #: The members of a project, and operators.
    MEMBER = enum.auto()
    #: All who have a role in a project, and operators.
    READER = enum.auto()


#: By action: the method of its request, and whether the request is about one item.
METHODS = {
    "list": ("GET", False),
    "create": ("POST", False),
    "get": ("GET", True),
    "update": ("PATCH", True),
    "delete": ("DELETE", True),
}


@dataclasses.dataclass(frozen=True)
class DeclaredAction:
    """Something that the API does with a resource.

    :ivar by: whom the policy allows it.
    :ivar summary: what it does, in whole sentences.
    :ivar codes: the codes of its own errors. Codes that many operations share are added to them.
    :ivar rule: what the policy's rule allows, if this isn't the summary.
    :ivar status: the status of the answer to a request that creates an item.
    :ivar dry_run: whether a request can ask what it would do.
    """

    by: By
    summary: str = ""
    codes: tuple[str, ...] = ()
    rule: str = ""
    status: int = 200
    dry_run: bool = False


class Resource:
    """The base class of the declared resources."""

    #: The resource's name in policy rules, and in the URLs of its collection and of an item.
    noun: ClassVar[str] = ""
    path: ClassVar[str] = ""
    ref: ClassVar[str] = ""
    #: What the API does with it, by name: a key of ``METHODS``, perhaps with what is allowed in
    #: addition after a colon, such as ``list:all``.
    actions: ClassVar[Mapping[str, DeclaredAction]] = {}
    #: The parameters by which lists are filtered.
    filters: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def rule(cls, action: str) -> str:
        """The name of the policy rule of an action."""
        return f"warre:{cls.noun}:{action}"

    @classmethod
    def request(cls, action: str) -> tuple[str, str]:
        """The method and the path of the request for an action."""
        method, of_one = METHODS[action.partition(":")[0]]
        return method, f"/{cls.path}/{{{cls.ref}}}" if of_one else f"/{cls.path}"


def _kept(
    read: Callable[[type[Resource]], Iterable[Field[Any]]],
) -> Callable[[type[Resource]], Sequence[Field[Any]]]:
    """A decorator that reads the fields of each resource once. A list asks for them often.

    It does what ``functools.cache`` does, for which mypy takes these classes for unhashable.
    """
    known: dict[type[Resource], Sequence[Field[Any]]] = {}

    @functools.wraps(read)
    def of(resource: type[Resource]) -> Sequence[Field[Any]]:
        if resource not in known:
            known[resource] = tuple(read(resource))
        return known[resource]

    return of


@_kept
def fields(resource: type[Resource]) -> Iterable[Field[Any]]:
    """The fields of a resource, in the order in which they are declared."""
    names = dict.fromkeys(name for each in reversed(resource.__mro__) for name in vars(each))
    declared = (getattr(resource, name) for name in names)
    return [field for field in declared if isinstance(field, Field)]


@_kept
def answered(resource: type[Resource]) -> Iterable[Field[Any]]:
    """The fields that answers may have."""
    return [field for field in fields(resource) if Use.WRITE_ONLY not in field.use]


def given(resource: type[Resource]) -> list[Field[Any]]:
    """The fields that bodies may have."""
    return [field for field in fields(resource) if Use.READ_ONLY not in field.use]


def changeable(resource: type[Resource]) -> list[Field[Any]]:
    """The fields that a body may have that changes an item."""
    return [field for field in given(resource) if Use.FIXED not in field.use]


def columns(resource: type[Resource], *, long: bool) -> list[str]:
    """The names of the fields for which a list of a resource has a column, the brief ones first."""
    brief = [field.name for field in fields(resource) if Use.BRIEF in field.use]
    shown = [field.name for field in fields(resource) if Use.SOMETIMES not in field.use]
    return list(dict.fromkeys([*brief, *shown])) if long else brief
