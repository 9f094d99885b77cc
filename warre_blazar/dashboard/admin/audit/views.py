"""The page with the report of the last audit."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import AuditFinding, Page
from warre_blazar.dashboard import forms as fields
from warre_blazar.dashboard import pages, tables

#: More differences aren't kept of an audit.
_ALL = 10_000


class AuditFilterForm(fields.FilterForm):
    """Which differences are listed."""

    kind = forms.ChoiceField(label=gettext_lazy("Kind"), required=False)
    needs = forms.ChoiceField(label=gettext_lazy("What that needs"), required=False)


class AuditPage(pages.PageView):
    """What the last audit has found, and when it was made."""

    template_name = "flavor_reservations/admin_audit.html"
    rule = "warre:audit:get"
    title = gettext_lazy("Audit")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        report = self.api.audit.get(1, _ALL)
        every = report.findings.items
        choices = {
            "kind": {each.kind: each.kind for each in every},
            "needs": {each.needs: _needed(each.needs) for each in every},
        }
        form = AuditFilterForm(self.request.GET, choices=choices)
        wanted = form.cleaned_data if form.is_valid() else {}
        found = [
            each
            for each in every
            if all(getattr(each, name) == value for name, value in wanted.items() if value)
        ]
        number, size = self.number(), self.size()
        shown = tuple(found[(number - 1) * size : number * size])
        return super().get_context_data(
            form=form,
            report=report,
            age=report.finished_at and pages.now() - report.finished_at,
            away=sorted(report.away.items()),
            table=_table(shown),
            pager=self.pager(Page(shown, number, size, len(found))),
            **kwargs,
        )


def _table(shown: Sequence[AuditFinding]) -> tables.Table:
    columns: dict[str, tables.Column] = {
        _("Difference"): lambda each: f"{each.text} ({each.kind})",
        _("What it means"): "meaning",
        _("What mends it"): "remedy",
        _("What that needs"): _needs,
    }
    caption, empty = _("Differences that the audit has found"), _("There is no such difference.")
    return tables.of(caption, shown, columns, empty)


def _needs(each: AuditFinding) -> str:
    needs = _("nothing, it is mended") if each.mended else _needed(each.needs)
    if not each.failure:
        return needs
    why = _("It could not be mended: %(why)s") % {"why": each.failure}
    return f"{needs}. {why}"


def _needed(needs: str) -> str:
    if needs == "a person":
        return _("an operator who does it")
    return f"warre-blazar-manage audit {needs}"
