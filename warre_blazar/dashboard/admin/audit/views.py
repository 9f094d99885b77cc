"""The page with the report of the last audit."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from warre_blazar.client import AuditFinding, AuditReport
from warre_blazar.dashboard import pages
from warre_blazar.dashboard.tables import Table


class AuditPage(pages.PageView):
    """What the last audit has found, and when it was made."""

    template_name = "flavor_reservations/admin_audit.html"
    rule = "warre:audit:get"
    title = gettext_lazy("Audit")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        report = self.api.audit.get(self.number(), self.size())
        return super().get_context_data(
            report=report,
            age=report.finished_at and pages.now() - report.finished_at,
            away=sorted(report.away.items()),
            table=_table(report),
            pager=self.pager(report.findings),
            **kwargs,
        )


def _table(report: AuditReport) -> Table:
    headers = (_("Difference"), _("What it means"), _("What mends it"), _("What that needs"))
    return Table(
        _("Differences that the audit has found"),
        headers,
        [_row(each) for each in report.findings.items],
        _("The audit has found no difference.") if report.finished_at else "",
    )


def _row(each: AuditFinding) -> list[Any]:
    needs = _("nothing, it is mended") if each.mended else _needed(each.needs)
    if each.failure:
        why = _("It could not be mended: %(why)s") % {"why": each.failure}
        needs = f"{needs}. {why}"
    return [f"{each.text} ({each.kind})", each.meaning, each.remedy, needs]


def _needed(needs: str) -> str:
    if needs == "a person":
        return _("an operator who does it")
    return f"warre-blazar-manage audit {needs}"
