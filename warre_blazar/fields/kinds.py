"""The kinds of values that fields have, with their bounds as JSON Schema."""

import copy
import datetime
import re
import zoneinfo
from typing import Any, Generic, TypeVar, cast

from warre_blazar import texts
from warre_blazar.texts import Said, expected

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Schema = dict[str, Any]

#: A keyword in schemas. Its value (``Said``) says what the field must be. If a schema doesn't have
#: this keyword, what it must be follows from the rule that the client's value breaks.
EXPECTED = "x-expected"
MAX_INT = 2**31 - 1

# Characters that texts may not have. Nobody sees control characters in a list, and NUL ends a text
# in some databases. The patterns describe what is forbidden. A pattern of what is allowed would
# have to end with "$", which in Python allows a newline at the end.
CONTROL = r"[\u0000-\u001f\u007f]"
#: The same, but tabs and line breaks are allowed.
CONTROL_IN_PROSE = r"[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]"
#: The same as CONTROL, and also spaces at the start or the end.
CONTROL_OR_ENDS = rf"{CONTROL}|^\s|\s$"


class FieldKind(Generic[T_co]):
    """A kind of values.

    :param answer: the JSON Schema of a value in an answer. It doesn't bound texts, because texts of
        older rows may be longer than a body may have.
    :param body: the JSON Schema of a value in a request's body.
    """

    #: Whether null is a value too.
    nullable = False

    def __init__(self, answer: Schema, body: Schema | None = None) -> None:
        self.answer, self.body = answer, body or answer

    def validate(self, value: Any) -> Any:
        """Check a value that didn't come in a body of this package's API.

        :raises NotValid:
        """
        return value

    def to_json(self, value: Any) -> Any:
        """Convert a value of the server to JSON."""
        return value

    def from_json(self, value: Any) -> Any:
        """Convert JSON to a value of the client."""
        return value


def or_null(kind: FieldKind[T]) -> FieldKind[T | None]:
    """A kind that also has the value null, in bodies and in answers."""
    wider = copy.copy(kind)
    wider.nullable = True
    wider.body, wider.answer = (_or_null(schema) for schema in (kind.body, kind.answer))
    return cast(FieldKind[T | None], wider)


def _or_null(schema: Schema) -> Schema:
    words = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **words}


class Integer(FieldKind[int]):
    """A whole number.

    :param unit: ``MiB`` or ``GiB`` if the number is a size.
    """

    def __init__(
        self, minimum: int = 1, maximum: int | None = MAX_INT, unit: str | None = None
    ) -> None:
        most = {} if maximum is None else {"maximum": maximum}
        super().__init__({"type": "integer", **most, "minimum": minimum})
        self.minimum, self.maximum, self.unit = minimum, maximum, unit

    def validate(self, value: Any) -> int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value < self.minimum:
            raise texts.NotValid(expected.WHOLE_NUMBER(least=self.minimum))
        if self.maximum is not None and value > self.maximum:
            raise texts.NotValid(expected.WHOLE_NUMBER_UP_TO(most=self.maximum))
        return value


class Text(FieldKind[str]):
    """A text.

    :param forbidden: a regular expression of what the text may not contain.
    :param allowed: what the text must be, for the answer to a text with forbidden parts.
    """

    def __init__(
        self, longest: int, least: int = 0, forbidden: str = CONTROL, allowed: Said | None = None
    ) -> None:
        body = {"type": "string", **({"minLength": least} if least else {}), "maxLength": longest}
        reason = {EXPECTED: allowed} if allowed else {}
        refused = {"type": "string", "pattern": forbidden, **reason}
        super().__init__({"type": "string"}, {**body, "not": refused})
        self._least, self._longest = least, longest
        # JSON can encode half of a surrogate pair, which isn't a character.
        self._forbidden = re.compile(rf"{forbidden}|[\ud800-\udfff]")

    def validate(self, value: Any) -> str:
        if not isinstance(value, str) or not self._least <= len(value) <= self._longest:
            raise texts.NotValid(expected.LENGTH(least=self._least, most=self._longest))
        if self._forbidden.search(value):
            raise texts.NotValid(expected.PRINTABLE())
        return value


class _Pattern(Text):
    """A text that has a pattern.

    :param matching: what the text must be, for the answer to any other text.
    """

    def __init__(self, longest: int, pattern: str, matching: Said) -> None:
        super().__init__(longest, 1)
        self._pattern, self._matching = re.compile(pattern), matching
        # The other bounds have texts of their own, so this one has a schema of its own.
        self.body = {**self.body, "allOf": [{"pattern": f"^{pattern}$", EXPECTED: matching}]}

    def validate(self, value: Any) -> str:
        text = super().validate(value)
        if not self._pattern.fullmatch(text):
            raise texts.NotValid(self._matching)
        return text


class Email(_Pattern):
    """An email address in ASCII. A name in another script has to be written as Punycode.

    It has none of the characters that RFC 5322 allows, but that mail servers and libraries may read
    as more than a name: ``?`` (encoded words), ``%`` and ``!`` (the way to another server), ``|``
    and ````` (commands).
    """

    def __init__(self) -> None:
        word = r"[A-Za-z0-9#$&'*+/=^_{}~-]+"
        local = rf"{word}(\.{word})*"
        label = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
        super().__init__(254, rf"{local}@{label}(\.{label})*", expected.EMAIL())


class ProjectId(_Pattern):
    """The id of a project, with the characters that Keystone allows in ids."""

    def __init__(self) -> None:
        super().__init__(64, "[A-Za-z0-9-]+", expected.PROJECT_ID())


class WebhookUrl(_Pattern):
    """A URL of HTTP with the name of a host, in ASCII, without a user and a fragment.

    Programs read an address such as ``0x7f.1`` or ``2130706433`` in different ways. So the last
    part of a name begins with a letter.
    """

    def __init__(self) -> None:
        more = "[A-Za-z0-9-]{0,61}[A-Za-z0-9]"
        host = rf"([A-Za-z0-9]({more})?\.){{0,126}}[A-Za-z]({more})?"
        path = r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]"
        target = rf"(/{path}*)?(\?({path}|[?])*)?"
        super().__init__(1024, rf"https?://{host}(:[1-9][0-9]{{0,4}})?{target}", expected.WEBHOOK())


class HandleName(_Pattern):
    """A handle, which is a part of the name of a Nova flavor. Nova may ignore case in names."""

    def __init__(self) -> None:
        super().__init__(63, "[a-z0-9]([a-z0-9._-]*[a-z0-9])?", expected.HANDLE())


class TimeZone(_Pattern):
    """The name of a time zone, such as Europe/Berlin, as IANA publishes it."""

    def __init__(self) -> None:
        super().__init__(64, r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", expected.TIMEZONE())

    def validate(self, value: Any) -> str:
        text = super().validate(value)
        try:
            zoneinfo.ZoneInfo(text)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise texts.NotValid(self._matching) from None
        return text


class Word(FieldKind[str]):
    """One of some words."""

    def __init__(self, *words: str) -> None:
        self.words, self._expected = words, expected.WORD(words=words)
        super().__init__(
            {"type": "string", "enum": list(words)},
            {"type": "string", "enum": list(words), EXPECTED: self._expected},
        )

    def validate(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise texts.NotValid(self._expected)
        return value


class Boolean(FieldKind[bool]):
    """True or false."""


class Time(FieldKind[datetime.datetime]):
    """A time. The server has it in naive UTC, and the client with the time zone UTC."""

    def __init__(self) -> None:
        answer = {"type": "string", "format": "date-time"}
        super().__init__(answer, {**answer, "maxLength": 64})

    def to_json(self, value: datetime.datetime | None) -> str | None:
        return None if value is None else f"{value.isoformat()}+00:00"

    def from_json(self, value: str | None) -> datetime.datetime | None:
        if not value:
            return None
        moment = datetime.datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


class TextMap(FieldKind[dict[str, str]]):
    """An object whose values are texts."""

    def __init__(self, most: int, longest: int) -> None:
        body = {
            "type": "object",
            "maxProperties": most,
            "propertyNames": {"minLength": 1, "maxLength": longest},
            "additionalProperties": Text(longest).body,
        }
        super().__init__({"type": "object", "additionalProperties": {"type": "string"}}, body)

    def to_json(self, value: Any) -> dict[str, str]:
        return dict(value)


def answer(**properties: Schema) -> Schema:
    """The schema of an object in an answer. It always has these properties."""
    return {"type": "object", "required": list(properties), "properties": properties}


def reference(name: str) -> Schema:
    """A reference to one of the named schemas of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


BOOLEAN = Boolean({"type": "boolean"})
_ID = {"type": "string", "minLength": 1, "maxLength": 64}
#: The id of an item, or in bodies perhaps the name of a flavor.
ID: FieldKind[str] = FieldKind(_ID, Text(64, 1).body)
PROJECT_ID = ProjectId()
#: A text in an answer that Blazar or Keystone has chosen.
VALUE: FieldKind[str] = FieldKind({"type": "string"})
