"""The base class of all forms, and fields that several forms have."""

import datetime
import re
import zoneinfo
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from warre_blazar.client import errors

_LOCAL = "%Y-%m-%dT%H:%M"
#: How browsers and people write a moment. It is a time in the zone that the user has chosen.
_MOMENTS = [_LOCAL, "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"]


class BaseForm(forms.Form):
    """A form whose fields look like Horizon's."""

    required_css_class = "required"
    #: What stands above the first field of a group of fields, by the name of this field.
    headings: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Horizon's scripts take fields by Django's own ids. They make "id_start" and "id_end" date
        # pickers, which empty the fields that are left.
        super().__init__(*args, auto_id="field_%s", **kwargs)
        for name, field in self.fields.items():
            field.heading = self.headings.get(name)
            if not isinstance(field.widget, forms.CheckboxInput | forms.CheckboxSelectMultiple):
                field.widget.attrs.setdefault("class", "form-control")
            if field.help_text:
                field.widget.attrs["aria-describedby"] = f"help_{name}"

    def add_error(self, field: str | None, error: Any) -> None:
        """Add an error, and let the field say where its error stands. Django calls this too."""
        super().add_error(field, error)
        for name in self.fields.keys() & self.errors.keys():
            attrs = self.fields[name].widget.attrs
            described = dict.fromkeys(attrs.get("aria-describedby", "").split())
            described[f"field_{name}_error"] = None
            attrs |= {"aria-invalid": "true", "aria-describedby": " ".join(described)}


#: The names that forms may give to a field of the API, by its name there.
_FIELDS = {
    "instance_count": ("count",),
    "flavor_id": ("flavor", "what"),
    "category": ("what",),
    "end": ("hours",),
    "rrule": ("rule", "repeat"),
    "from": ("since",),
    "to": ("until",),
}


def add_refusal(form: BaseForm, error: errors.ApiError) -> None:
    """Add what the API refuses to a form, at the field that the error names if the form has it."""
    named = error.detail.get("field", "")
    field = _field(form, named)
    said = str(error).removeprefix(f"{named}: ") if field else str(error)
    form.add_error(
        field, re.sub(r"\b[a-z]+(_[a-z]+)+\b", lambda found: _label(form, found[0]), said)
    )


def _field(form: BaseForm, named: str) -> str | None:
    """The field of a form for a field of the API."""
    return next((n for n in (named, *_FIELDS.get(named, ())) if n in form.fields), None)


def _label(form: BaseForm, named: str) -> str:
    """What a form calls a field of the API, or the name there if the form hasn't the field."""
    field = _field(form, named)
    return f'"{form.fields[field].label}"' if field else named


class FilterForm(BaseForm):
    """Which things a list shows. Fields with choices may be left open."""

    def __init__(self, *args: Any, choices: Mapping[str, Mapping[str, str]], **kwargs: Any) -> None:
        """
        :param choices: by field, the names of what can be chosen, by id.
        """
        super().__init__(*args, **kwargs)
        for field, named in choices.items():
            pairs = sorted(named.items(), key=lambda pair: pair[1])
            self.fields[field].choices = [("", gettext("all")), *pairs]


class MomentField(forms.DateTimeField):
    """A moment, in the zone that the user has chosen in Horizon."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_LOCAL)
        super().__init__(input_formats=_MOMENTS, widget=widget, **kwargs)


class LocalMomentField(MomentField):
    """A moment in a zone that another field of the form names. Its values have no zone."""

    def to_python(self, value: Any) -> datetime.datetime | None:
        # Without Django's conversion from the user's zone.
        read = forms.fields.BaseTemporalField.to_python
        return None if value in self.empty_values else read(self, value)


class DayField(forms.DateField):
    """A day."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        super().__init__(input_formats=["%Y-%m-%d"], widget=widget, **kwargs)


class DaysField(forms.CharField):
    """Days with commas or blanks between them. Its values are lists of days."""

    def to_python(self, value: Any) -> list[datetime.date]:
        words = str(super().to_python(value)).replace(",", " ").split()
        try:
            return [datetime.datetime.strptime(word, "%Y-%m-%d").date() for word in words]
        except ValueError:
            text = gettext("Write days such as 2026-12-24, with commas between them.")
            raise forms.ValidationError(text) from None


class ProseField(forms.CharField):
    """A text of several lines."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=forms.Textarea(attrs={"rows": 2}), **kwargs)

    def to_python(self, value: Any) -> str:
        # Browsers send each line break as two characters.
        return str(super().to_python(value)).replace("\r\n", "\n")


def zone(**kwargs: Any) -> forms.ChoiceField:
    """A field for a time zone."""
    names = sorted(name for name in zoneinfo.available_timezones() if "/" in name or name == "UTC")
    return forms.ChoiceField(choices=[(name, name) for name in names], **kwargs)


#: The values of ``affinity`` in the client of the API, by the values of the field.
_PLACES = {"": None, "same": True, "different": False}


class BookingForm(BaseForm):
    """The fields that a booking, a wait for one and a series have alike."""

    affinity = forms.ChoiceField(
        label=_("Hosts"),
        required=False,
        choices=[
            ("", _("any hosts")),
            ("same", _("all instances on one host")),
            ("different", _("each instance on another host")),
        ],
    )
    name = forms.CharField(
        label=_("Name"),
        required=False,
        max_length=255,
        help_text=_("Lists show the reservation by this name."),
    )
    note = ProseField(label=_("Note"), required=False, max_length=4096)
    contact = forms.CharField(
        label=_("Email address for messages"),
        required=False,
        help_text=_("If you leave it empty, messages go to your own address."),
    )
    before_end = forms.ChoiceField(
        label=_("Before the end"),
        required=False,
        choices=[
            ("", _("what the flavor says")),
            ("nothing", _("do nothing")),
            ("snapshot", _("make an image of each server")),
        ],
        help_text=_("At the end, all servers of the reservation are deleted."),
    )

    def labels(self) -> dict[str, Any]:
        """The values of these fields, for the client of the API. An empty field is None."""
        given = self.cleaned_data
        texts = {n: given.get(n) or None for n in ("name", "note", "contact", "before_end")}
        return {"affinity": _PLACES[given["affinity"]], **texts}


def count(**kwargs: Any) -> forms.IntegerField:
    """A field for a number of instances."""
    return forms.IntegerField(label=_("Instances"), min_value=1, max_value=100_000, **kwargs)


def movable_hours() -> forms.IntegerField:
    """A field for by how much maintenance may move a reservation."""
    return forms.IntegerField(
        label=_("Maintenance may move it by"),
        required=False,
        min_value=0,
        max_value=8760,
        help_text=_("So many hours, to a later start, if it hasn't begun. Empty: not at all."),
    )


def hours(**kwargs: Any) -> forms.FloatField:
    """A field for a length in hours."""
    messages = {"min_value": _("A reservation is at least one minute long.")}
    return forms.FloatField(
        label=_("Hours"), min_value=1 / 60, max_value=876_000, error_messages=messages, **kwargs
    )


def days_left_out() -> DaysField:
    """A field for the days on which a series has no reservation."""
    return DaysField(
        label=_("Days left out"),
        required=False,
        help_text=_(
            "Such as holidays: 2026-12-24, 2026-12-31. The number of times counts them too."
        ),
    )


def length(number: float) -> datetime.timedelta:
    """A number of hours, in whole minutes."""
    return datetime.timedelta(minutes=round(number * 60))


def at(given: datetime.datetime | None) -> datetime.datetime | None:
    """A moment of a form in UTC, as the client of the API takes it."""
    return None if given is None else given.astimezone(datetime.UTC)
