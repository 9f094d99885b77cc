"""The base class of all forms, and fields that several forms have."""

import datetime
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

_LOCAL = "%Y-%m-%dT%H:%M"
#: How browsers and people write a moment. It is a time in the zone that the user has chosen.
_MOMENTS = [_LOCAL, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"]


class BaseForm(forms.Form):
    """A form whose fields look like Horizon's."""

    required_css_class = "required"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if not isinstance(field.widget, forms.CheckboxInput):
                field.widget.attrs.setdefault("class", "form-control")
            if field.help_text:
                field.widget.attrs["aria-describedby"] = f"help_{name}"


class MomentField(forms.DateTimeField):
    """A moment, in the zone that the user has chosen in Horizon."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_LOCAL)
        super().__init__(input_formats=_MOMENTS, widget=widget, **kwargs)


class DayField(forms.DateField):
    """A day."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        super().__init__(input_formats=["%Y-%m-%d"], widget=widget, **kwargs)


class ProseField(forms.CharField):
    """A text of several lines."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=forms.Textarea(attrs={"rows": 2}), **kwargs)


def count(**kwargs: Any) -> forms.IntegerField:
    """A field for a number of instances."""
    return forms.IntegerField(label=_("Instances"), min_value=1, max_value=100_000, **kwargs)


def hours(**kwargs: Any) -> forms.FloatField:
    """A field for a length in hours."""
    return forms.FloatField(label=_("Hours"), min_value=1 / 60, max_value=876_000, **kwargs)


def length(number: float) -> datetime.timedelta:
    """A number of hours, in whole minutes."""
    return datetime.timedelta(minutes=round(number * 60))


def at(given: datetime.datetime | None) -> datetime.datetime | None:
    """A moment of a form in UTC, as the client of the API takes it."""
    return None if given is None else given.astimezone(datetime.UTC)
