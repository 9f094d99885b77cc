"""German is complete: each marked text of the pages is translated, and the compiled file is new."""

import io
import pathlib
import re
from typing import Any

from babel.messages import extract, mofile, pofile
from django.utils.translation.template import templatize

from tests.dashboard.conftest import Visitor
from tests.dashboard.test_mine import answers  # noqa: F401
from warre_blazar import dashboard

ROOT = pathlib.Path(dashboard.__file__).parent
GERMAN = ROOT / "locale" / "de" / "LC_MESSAGES"
_KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy")),
    "ngettext": (1, 2),
}


def marked() -> set[Any]:
    """The texts that are marked for translation in modules and templates."""
    found: set[Any] = set()
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


def test_placeholders_are_kept() -> None:
    with (GERMAN / "django.po").open("rb") as file:
        for message in pofile.read_po(file):
            wanted = {frozenset(re.findall(r"%\(\w+\)\w", t)) for t in _texts(message.id)}
            for text in _texts(message.string):
                assert frozenset(re.findall(r"%\(\w+\)\w", text)) in wanted, message.id


def test_compiled_file_is_up_to_date() -> None:
    with (GERMAN / "django.po").open("rb") as source, (GERMAN / "django.mo").open("rb") as compiled:
        catalogs = (pofile.read_po(source), mofile.read_mo(compiled))
    written, read = ({_texts(m.id): _texts(m.string) for m in c if m.id} for c in catalogs)
    assert written == read


def test_page_is_in_german(member: Visitor) -> None:
    member.browser.cookies["horizon_language"] = "de"
    page = member.sees("/project/flavor_reservations/", HTTP_ACCEPT_LANGUAGE="de")
    assert "Meine Reservierungen" in page and "Kalenderdatei herunterladen" in page
