"""The page of texts: each refusal, warning and reason that people read, once.

An entry has a code for programs, the names and types of its data, and the English sentence with
places for them. The server makes an error, a warning or a reason from an entry and its data, and
answers with the code, the data (``detail``) and the English sentence. Clients find the entry again
by its code, and word it in the reader's language and time zone. So this package imports nothing of
the rest, and both sides import it.

If a code has several sentences, ``detail["reason"]`` tells them apart. To change a sentence, change
its entry. Then change the same sentence in the German of ``dashboard/locale``, whose test names it.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from types import ModuleType
from typing import Any

from warre_blazar.texts import (
    bodies,
    commands,
    expected,
    extra_specs,
    permissions,
    refusals,
    services,
    warnings,
)
from warre_blazar.texts.entries import API, BY, OR, Entry, NotValid, Reader, Said

__all__ = [
    "API",
    "BRIEF",
    "ERRORS",
    "WARNINGS",
    "Entry",
    "Key",
    "NotValid",
    "Reader",
    "Said",
    "bodies",
    "commands",
    "expected",
    "extra_specs",
    "permissions",
    "reader",
    "refusals",
    "services",
    "translatable",
    "warnings",
    "word",
    "worded",
]

#: The code and the reason of an entry.
Key = tuple[str, str]


def _of(*pages: ModuleType) -> dict[Key, Entry]:
    entries = [each for page in pages for each in vars(page).values() if isinstance(each, Entry)]
    return {(entry.code, entry.reason): entry for entry in entries}


#: The entries of errors, and of what stands within them.
ERRORS: Mapping[Key, Entry] = _of(expected, extra_specs, refusals, permissions, bodies, services)
#: By the codes that say why something can't be booked, an entry with the brief clause alone.
BRIEF: Mapping[str, Entry] = {
    entry.code: Entry(entry.code, entry.brief) for entry in ERRORS.values() if entry.brief
}
#: The entries of warnings about flavors.
WARNINGS: Mapping[Key, Entry] = _of(warnings)


def reader(
    time: Callable[[datetime], str],
    translate: Callable[[str], str] = str,
    user: Callable[[str], str] = str,
) -> Reader:
    """A reader to whom also the errors within other errors are worded.

    :param time: returns a moment in the reader's zone and form.
    :param translate: returns a template in the reader's language.
    :param user: returns the name of a user, given by the id.
    """

    def said(document: Mapping[str, Any]) -> str:
        return word(document, made)

    made = Reader(time, translate, said, user)
    return made


#: The entries of the sentences in a field of an answer, by the field's name. All others are errors.
_FIELDS = {"warnings": WARNINGS}


def worded(answer: Any, to: Reader, entries: Mapping[Key, Entry] = ERRORS) -> Any:
    """An answer of the API in which each sentence is worded for a reader.

    :param answer: a document of the API, or a part of it.
    :param entries: the entries of the sentences in the answer.
    """
    if isinstance(answer, list):
        return [worded(each, to, entries) for each in answer]
    if not isinstance(answer, dict):
        return answer
    made = {name: worded(each, to, _FIELDS.get(name, entries)) for name, each in answer.items()}
    if {"code", "message", "detail"} <= answer.keys():
        made["message"] = word(answer, to, entries)
    return made


def word(document: Mapping[str, Any], to: Reader, entries: Mapping[Key, Entry] = ERRORS) -> str:
    """An answer's sentence, worded for a reader.

    :param document: what the API has answered: ``code``, ``message`` and ``detail``.
    :returns: the ``message`` if no entry has the code, or its data are other ones. The API may be
        newer than its client.
    """
    detail = document.get("detail") or {}
    try:
        entry = entries[document["code"], detail.get("reason", "")]
        return entry.sentence(detail, to)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return str(document["message"])


def translatable() -> set[str]:
    """All texts on the page that a client with another language translates."""
    entries = [*ERRORS.values(), *WARNINGS.values()]
    nouns = {OR, BY, *services.NOUNS, *expected.TYPES.values(), *permissions.LISTED}
    templates = {text for entry in entries for text in entry.templates}
    return nouns | {text for text in templates if re.search(r"[a-z]", re.sub(r"{.*?}", "", text))}
