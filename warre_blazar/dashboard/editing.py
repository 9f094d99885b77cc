"""Forms that change something: they send only what the person has changed.

The page carries the values that it has shown, and their ETag. So a page that has been open for a
while doesn't take back what somebody else has changed meanwhile.
"""

import datetime
import functools
import json
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from warre_blazar.client import errors
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import moments, pages

#: The code of the API's error if somebody else has changed a field that is sent.
CHANGED = "changed_since_shown"


class EditForm(fields.BaseForm):
    """A form with the values that it has shown, in a hidden field.

    :param present: the values of the form's fields that the item has now.
    :param etag: the item's ETag.
    """

    shown = forms.CharField(required=False, widget=forms.HiddenInput({"autocomplete": "off"}))

    def __init__(
        self, *args: Any, present: dict[str, Any], etag: str | None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        values = {
            n: self.fields[n].prepare_value(v) for n, v in present.items() if n in self.fields
        }
        self.initial["shown"] = json.dumps({"etag": etag, "values": values}, default=_local)

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        try:
            shown = json.loads(given["shown"])
            self.etag, self._values = shown["etag"], dict(shown["values"])
        except (KeyError, TypeError, ValueError):
            if not self.errors:  # A form with other errors isn't carried out anyway.
                text = _("Open this page again, and repeat your change.")
                raise forms.ValidationError(text) from None
        return given

    def values(self) -> dict[str, Any]:
        """The values of the valid form's fields, for the client of the API."""
        raise NotImplementedError

    def changes(self) -> dict[str, Any]:
        """Those of the values that the person has changed."""
        values = self.values()
        return {name: values[name] for name in self.changed()}

    def changed(self) -> list[str]:
        """The names of the valid form's fields that don't have what the page has shown."""
        return [
            name
            for name in self.fields
            if name in self._values and self.differs(name, self[name].data)
        ]

    def differs(self, name: str, value: Any) -> bool:
        """Whether a value isn't the one of a field that the page has shown.

        :param value: the value as a browser sends it.
        """
        field = self.fields[name]
        return bool(field.has_changed(field.to_python(self._values[name]), value))


def _local(moment: datetime.datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M}"


class EditView(pages.FormView):
    """A page with an ``EditForm``."""

    only_once = False

    def read(self) -> Any:
        """The item that is changed, as the API shows it."""
        raise NotImplementedError

    def present(self) -> dict[str, Any]:
        """The values of the form's fields that the item has now."""
        raise NotImplementedError

    @functools.cached_property
    def item(self) -> Any:
        """The item as it was read last."""
        return self.read()

    def initial(self) -> dict[str, Any]:
        return self.present()

    def form_arguments(self) -> dict[str, Any]:
        present = {"present": self.present(), "etag": self.item.etag}
        return {**super().form_arguments(), **present}

    def refused(self, form: EditForm, error: errors.ApiError) -> Any:
        if error.code != CHANGED:
            return super().refused(form, error)
        del self.item
        return self._shown_anew(form)

    def _shown_anew(self, form: EditForm) -> Any:
        """The page with the present values, and with those that the person has changed.

        If somebody else has changed one of them too, both values stand side by side.
        """
        changed, present = form.changed(), self.present()
        data = {name: form[name].data for name in changed}
        fresh = self.form_class(initial={**present, **data}, **self.form_arguments())
        there = {name: form.fields[name].prepare_value(present[name]) for name in changed}
        both = [
            (form.fields[name].label, *(_words(form.fields[name], v[name]) for v in (there, data)))
            for name in changed
            if form.differs(name, there[name])
        ]
        return self.shown(fresh, meanwhile={"fields": both})


def _words(field: forms.Field, value: Any) -> str:
    """A value of a field as people read it."""
    value = field.to_python(value)
    if isinstance(value, datetime.datetime):
        return moments.when(value)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    names = {str(key): str(name) for key, name in getattr(field, "choices", ())}
    texts = [names.get(str(v), str(v)) for v in (value if isinstance(value, list) else [value])]
    return ", ".join(text for text in texts if text != "None") or "\u2013"
