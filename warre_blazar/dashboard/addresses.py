"""Addresses of pages with values for their forms."""

import datetime
from typing import Any

from django import urls
from django.utils.http import urlencode

from warre_blazar.dashboard import moments


def of(page: str, /, *args: str, **values: Any) -> str:
    """Return the address of a page.

    :param page: the name of the page, such as ``project:find_reservations:index``.
    :param args: the parts of the address that say what the page shows.
    :param values: the values of the page's form. None and an empty text are left out.
    """
    where = urls.reverse(f"horizon:{page}", args=args)
    given = {key: _text(value) for key, value in values.items() if value not in (None, "")}
    return f"{where}?{urlencode(given)}" if given else where


def _text(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return moments.query(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
