"""What an entry on the page of texts is, and how its sentence is worded for a reader.

The template of an entry has a place for each of its data, such as ``{latest_end:time}``. The word
behind the colon is the type of the data:

- none: a name, an id, a code or a value, which stands in the sentence as it is.
- ``number``: a number. ``slot|slots``: the same, followed by the word for one or for several.
- ``time``: a moment.
- ``by``: the id of the user who did it, after the word "by". None: nothing is said.
- ``names``: a list of names. ``or``: the same, with "or" between them.
- ``nouns``: a list of English nouns, which are translated too, with "or" between them.
- ``ids``: a list of objects with an ``id``.
- ``noun``: an English noun with its article, which is translated too.
- ``each``: a list of objects, for each of which the entry's template ``each`` is worded. Without
  this template, each object is as for ``said``.
- ``said``: another sentence or a part of one, as an object with ``code``, ``message`` and
  ``detail``.
"""

import dataclasses
import datetime
import re
import string
from collections.abc import Callable, Iterable, Mapping
from typing import Any

#: The data of a sentence by name, with values that can be written as JSON. Moments are in ISO 8601.
Data = Mapping[str, Any]

#: The word between alternatives.
OR = "or"
#: What names the user who did something.
BY = " by {user}"
#: The frame of a sentence about a field of a request.
FIELD = "{field}: {clause}"


def _utc(moment: datetime.datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


@dataclasses.dataclass(frozen=True)
class Reader:
    """For whom a sentence is worded."""

    #: Returns a moment, given in UTC, in the reader's zone and form.
    time: Callable[[datetime.datetime], str] = _utc
    #: Returns a template in the reader's language.
    translate: Callable[[str], str] = str
    #: Words what stands within another sentence, given as an object.
    said: Callable[[Any], str] = lambda document: str(document["message"])
    #: Returns the name of a user, given by the id.
    user: Callable[[str], str] = str


#: Who reads answers of the API: English, with times in UTC.
API = Reader()


class Said(str):
    """The English words of an entry with its data. They are part of an error, warning or reason.

    :ivar entry: the entry.
    :ivar data: its data.
    """

    entry: "Entry"
    data: Data

    @property
    def detail(self) -> dict[str, Any]:
        """The data, and the entry's reason if its code has several entries."""
        return {**({"reason": self.entry.reason} if self.entry.reason else {}), **self.data}

    @property
    def document(self) -> dict[str, Any]:
        """The words as an object that can be written as JSON."""
        return {"code": self.entry.code, "message": str(self), "detail": self.detail}


class NotValid(ValueError):
    """A value isn't valid.

    :ivar expected: what would be valid.
    """

    def __init__(self, expected: Said) -> None:
        super().__init__(expected)
        self.expected = expected


@dataclasses.dataclass(frozen=True)
class Entry:
    """A text for people: a sentence with places for data.

    :param code: the stable code for programs.
    :param template: the English sentence, or what stands in its frame.
    :param reason: tells the sentence from others that have the same code.
    :param also: the names of further data, separated by spaces. The sentence doesn't have them.
    :param frame: the sentence that the entry is a part of. It has a place ``clause`` for the part.
        What it is about is in the error that gets the entry.
    :param each: the template for one object of the data of the type ``each``.
    :param brief: a clause that says the same of a flavor in a list of flavors. One entry of each
        code has it if the code says why something can't be booked.
    """

    code: str
    template: str
    reason: str = ""
    _: dataclasses.KW_ONLY
    also: str = ""
    frame: str = ""
    each: str = ""
    brief: str = ""

    @property
    def names(self) -> frozenset[str]:
        """The names of the entry's data, without those that are only in its frame."""
        return frozenset([*places(self.template), *self.also.split()])

    def __call__(self, **data: Any) -> Said:
        """The entry's words with its data. Naive moments are in UTC.

        :raises TypeError: data are missing, or there are other ones than the entry has.
        """
        if data.keys() != self.names:
            raise TypeError(f"{self.code} {self.reason} has {self.names}, not {data.keys()}")
        values = {name: _in_json(value) for name, value in data.items()}
        said = Said(self._fill(self.template, values, API))
        said.entry, said.data = self, values
        return said

    def sentence(self, data: Data, reader: Reader = API) -> str:
        """The whole sentence for a reader.

        :param data: the entry's data, and those of its frame.
        :raises KeyError, IndexError, TypeError, ValueError: data are missing, or of another type.
        """
        clause = self._fill(self.template, data, reader)
        return self._fill(self.frame, {**data, "clause": clause}, reader) if self.frame else clause

    def _fill(self, template: str, data: Data, reader: Reader) -> str:
        return _Words(reader, self.each).vformat(reader.translate(template), (), data)

    @property
    def templates(self) -> list[str]:
        """All texts of the entry that can be translated."""
        return [text for text in (self.template, self.frame, self.each, self.brief) if text]


class _Words(string.Formatter):
    """Writes data into the places of a template."""

    def __init__(self, reader: Reader, each: str) -> None:
        self._reader, self._each = reader, each

    def format_field(self, value: Any, format_spec: str) -> str:
        one, bar, several = format_spec.partition("|")
        if bar:
            return f"{_number(value)} {one if value == 1 else several}"
        word: dict[str, Callable[[Any], str]] = {
            "": str,
            "number": _number,
            "time": self._time,
            "by": self._by,
            "names": lambda names: ", ".join(map(str, names)),
            "or": self._alternatives,
            "nouns": lambda nouns: self._alternatives(map(self._reader.translate, nouns)),
            "ids": lambda items: ", ".join(item["id"] for item in items),
            "noun": self._reader.translate,
            "each": self._list,
            "said": self._reader.said,
        }
        return word[format_spec](value)

    def _time(self, value: str) -> str:
        moment = datetime.datetime.fromisoformat(value)
        return self._reader.time(moment.astimezone(datetime.UTC))

    def _by(self, user_id: str | None) -> str:
        by = self._reader.translate(BY)
        return by.format(user=self._reader.user(user_id)) if user_id else ""

    def _alternatives(self, names: Iterable[str]) -> str:
        return f" {self._reader.translate(OR)} ".join(names)

    def _list(self, items: Any) -> str:
        if not self._each:
            return "; ".join(map(self._reader.said, items))
        template = self._reader.translate(self._each)
        return "; ".join(self.vformat(template, (), item) for item in items)


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(int(value))


def _in_json(value: Any) -> Any:
    if isinstance(value, Said):
        return value.document
    if isinstance(value, datetime.datetime):
        return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).isoformat()
    return list(value) if isinstance(value, tuple | set | frozenset) else value


def places(template: str) -> dict[str, str]:
    """The type of each of the data for which a template has places, by name."""
    parsed = (part[1:3] for part in string.Formatter().parse(template))
    return {re.split(r"[.\[]", name)[0]: kind or "" for name, kind in parsed if name}
