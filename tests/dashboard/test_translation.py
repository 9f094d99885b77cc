"""German is complete: each marked text of the pages is translated, and the compiled file is new."""

import io
import pathlib
import re
from typing import Any

from babel.messages import extract, mofile, pofile
from django.utils.translation.template import templatize

from tests.dashboard.conftest import Visitor
from tests.dashboard.test_mine import LINE, ONE, answers  # noqa: F401
from tests.unit.cli.fake_api import Api, error
from warre_blazar import dashboard, texts

ROOT = pathlib.Path(dashboard.__file__).parent
GERMAN = ROOT / "locale" / "de" / "LC_MESSAGES"
_KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy")),
    "ngettext": (1, 2),
}


def marked() -> set[Any]:
    """The texts that are marked for translation in modules and templates, and the page of texts."""
    found: set[Any] = set(texts.translatable())
    for path in ROOT.rglob("*"):
        if path.suffix == ".py":
            source = path.read_text()
        elif path.suffix == ".html":
            source = templatize(path.read_text(), origin=str(path))
        else:
            continue
        listed = extract.extract("python", io.BytesIO(source.encode()), keywords=_KEYWORDS)
        found |= {message for _line, message, _comments, _context in listed}
    return found


def test_each_text_is_translated() -> None:
    with (GERMAN / "django.po").open("rb") as file:
        catalog = pofile.read_po(file)
    translated = {message.id for message in catalog if message.id and all(_texts(message.string))}
    assert marked() - translated == set()
    assert translated - marked() == set()


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _places(text: str) -> frozenset[str]:
    """The places of a text. A number with a word has other words in another language."""
    named = re.findall(r"%\(\w+\)\w|\{.*?\}", text)
    return frozenset(re.sub(r":.*\|.*\}", ":|}", place) for place in named)


def test_placeholders_are_kept() -> None:
    with (GERMAN / "django.po").open("rb") as file:
        for message in pofile.read_po(file):
            wanted = {_places(text) for text in _texts(message.id)}
            for text in _texts(message.string):
                assert _places(text) in wanted, message.id


def test_compiled_file_is_up_to_date() -> None:
    with (GERMAN / "django.po").open("rb") as source, (GERMAN / "django.mo").open("rb") as compiled:
        catalogs = (pofile.read_po(source), mofile.read_mo(compiled))
    written, read = ({_texts(m.id): _texts(m.string) for m in c if m.id} for c in catalogs)
    assert written == read


def test_error_of_the_api_is_in_german_and_in_the_zone_of_the_user(
    member: Visitor, api: Api
) -> None:
    member.browser.cookies["horizon_language"] = "de"
    member.browser.cookies["django_timezone"] = "Asia/Tokyo"
    terms = {"extend_within_hours": 2, "extend_from": "2026-12-01T20:00:00+00:00"}
    api.answers[f"GET {LINE}"] = error(400, "Not yet", "too_early_to_extend", **terms)
    page = member.sees(ONE, 502, HTTP_ACCEPT_LANGUAGE="de")
    assert (
        "Die Reservierung kann nur in ihren letzten 2 Stunden verlängert werden; versuchen Sie es "
        "ab Mi 2026-12-02 05:00 noch einmal" in page
    )


def test_unknown_error_of_the_api_is_shown_as_the_api_words_it(member: Visitor, api: Api) -> None:
    member.browser.cookies["horizon_language"] = "de"
    api.answers[f"GET {LINE}"] = error(400, "A new rule refuses it", "of_tomorrow")
    assert "A new rule refuses it" in member.sees(ONE, 502, HTTP_ACCEPT_LANGUAGE="de")


def test_page_is_in_german(member: Visitor) -> None:
    member.browser.cookies["horizon_language"] = "de"
    page = member.sees("/project/flavor_reservations/", HTTP_ACCEPT_LANGUAGE="de")
    assert "Meine Reservierungen" in page and "Kalenderdatei herunterladen" in page
